/** The verdict of folder mode on a spec, in the shape of the API server's. */
import { API_VERSION, KINDS, type KindName } from '../../contract/api/index.ts'
import { fieldName } from '../../controller/source/explain.ts'
import { type Content, type ParseContext, parseDocument } from '../../controller/source/folder/parse.ts'

const NAMESPACE = 'default'

export interface FolderVerdict {
  accepted: boolean
  faults: { field: string; message: string }[]
}

/** `old` is the spec in force before, for an update. */
export function judgeInFolder(kind: KindName, name: string, spec: unknown, old?: unknown): FolderVerdict {
  const document = (text: unknown) => ({ apiVersion: API_VERSION, kind, metadata: { name }, spec: text })
  const context: ParseContext = { namespace: NAMESPACE, env: {}, inForce: () => undefined }
  const before = old === undefined ? undefined : parsed(document(old), context)
  const reading = parseDocument(document(spec), { ...context, inForce: () => before })
  if (reading.outcome === 'good') return { accepted: true, faults: [] }
  const faults = reading.faults.map(({ path, message }) => ({ field: fieldName(path), message }))
  return { accepted: false, faults }
}

function parsed(document: unknown, context: ParseContext): Content {
  const reading = parseDocument(document, context)
  if (reading.outcome !== 'good') throw new Error('the spec before the update is not in order')
  return reading.content
}

export const KIND_NAMES = Object.keys(KINDS).filter((name): name is KindName => Object.hasOwn(KINDS, name))
