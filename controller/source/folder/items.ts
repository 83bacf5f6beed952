/** The resources in a document: the document itself, or the items of a list as printed by `kubectl get -o yaml`. */
import { z } from 'zod'
import type { SourceDocument } from './documents.ts'
import { isListKind } from './parse.ts'

const list = z.object({ kind: z.string().refine(isListKind), items: z.array(z.unknown()) })

/** Each item keeps its position in the file. */
export function itemsOf(document: SourceDocument): SourceDocument[] {
  const { success, data } = list.safeParse(document.value)
  if (!success) return [document]
  return data.items.flatMap((value, index) => {
    const locate: SourceDocument['locate'] = (path) => document.locate(['items', index, ...path])
    return itemsOf({ ...document, value, locate })
  })
}
