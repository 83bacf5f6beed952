/** Resources in the files of a folder, as `sluice dev` reads them. */
import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Document, parseAllDocuments, stringify } from 'yaml'
import { z } from 'zod'
import { API_VERSION } from '../../contract/api/index.ts'
import { listFolder } from '../../controller/source/folder/files.ts'
import { CommandFailure } from '../command.ts'
import { type NewResource, type Place, type Stored, stored, type WrittenKind } from './place.ts'

/** Files with keys are for their owner alone. */
const MODE = { Secret: 0o600, ApiKey: 0o644, Credit: 0o644 } as const

const named = z.looseObject({
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), namespace: z.string().optional() }),
})

interface Found {
  path: string
  documents: Document[]
  document: Document
}

export function folderPlace(folder: string, namespace: string): Place {
  /** Read anew each time: the files may be changed by hand. */
  async function find(kind: WrittenKind, name?: string): Promise<Found[]> {
    const { files } = await listFolder(folder).catch((error: unknown) => {
      throw new CommandFailure(`${folder} cannot be read (${(error as NodeJS.ErrnoException).code ?? error})`)
    })
    const found: Found[] = []
    for (const path of files) {
      const documents = parseAllDocuments(await readFile(path, 'utf8')) as Document[]
      for (const document of documents) {
        const { data } = named.safeParse(document.toJS())
        if (data?.kind !== kind || (data.metadata.namespace ?? namespace) !== namespace) continue
        if (name === undefined || data.metadata.name === name) found.push({ path, documents, document })
      }
    }
    return found
  }
  const read = ({ document }: Found): Stored => stored.parse(document.toJS())
  return {
    namespace,
    async get(kind, name) {
      const [found] = await find(kind, name)
      return found && read(found)
    },
    async list(kind) {
      return (await find(kind)).map(read)
    },
    async create(resource) {
      const { kind, name, spec } = resource
      if ((await find(kind, name)).length > 0) throw new CommandFailure(`${kind} ${name}: exists already`)
      const path = join(folder, `${kind.toLowerCase()}-${name}.yaml`)
      await writeFile(path, stringify(objectOf(resource)), { mode: MODE[kind], flag: 'wx' }).catch(
        (error: unknown) => {
          throw new CommandFailure(`${path} cannot be written (${(error as NodeJS.ErrnoException).code})`)
        },
      )
      return { metadata: { name }, spec: kind === 'Secret' ? {} : { ...spec } }
    },
    async patch(kind, name, spec) {
      const [found] = await find(kind, name)
      if (found === undefined) throw new CommandFailure(`${kind} ${name}: does not exist`)
      const { path, documents, document } = found
      for (const [field, value] of Object.entries(spec))
        if (value === null) document.deleteIn(['spec', field])
        else document.setIn(['spec', field], document.createNode(value))
      // A crash leaves the old file or the new one.
      if (documents.length > 1)
        for (const { directives } of documents) if (directives !== undefined) directives.docStart = true
      const text = documents.map(String).join('')
      await writeFile(`${path}.new`, text, { mode: 0o600 })
      await rename(`${path}.new`, path)
    },
    close: async () => undefined,
  }
}

function objectOf({ kind, name, spec }: NewResource): object {
  const metadata = { name }
  if (kind === 'Secret') return { apiVersion: 'v1', kind, metadata, stringData: spec }
  return { apiVersion: API_VERSION, kind, metadata, spec }
}
