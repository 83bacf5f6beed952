/** Resources in the files of a folder, as `sluice dev` reads them. */
import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Document, parseAllDocuments } from 'yaml'
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
  kind: string
  name: string
  path: string
  documents: Document[]
  document: Document
}

/** `load` reads a file. Each is read once, so that a command that makes hundreds of resources does not read them all for each. */
export function folderPlace(
  folder: string,
  namespace: string,
  load: (path: string) => Promise<string> = (path) => readFile(path, 'utf8'),
): Place {
  let loaded: Promise<Found[]> | undefined

  async function everything(): Promise<Found[]> {
    const { files } = await listFolder(folder).catch((error: unknown) => {
      throw new CommandFailure(`${folder} cannot be read (${(error as NodeJS.ErrnoException).code ?? error})`)
    })
    const found: Found[] = []
    for (const path of files) {
      const documents = parseAllDocuments(await load(path)) as Document[]
      for (const document of documents) {
        const { data } = named.safeParse(document.toJS())
        if (data === undefined || (data.metadata.namespace ?? namespace) !== namespace) continue
        found.push({ kind: data.kind, name: data.metadata.name, path, documents, document })
      }
    }
    return found
  }

  async function find(kind: WrittenKind, name?: string): Promise<Found[]> {
    loaded ??= everything()
    return (await loaded).filter(
      (found) => found.kind === kind && (name === undefined || found.name === name),
    )
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
      const document = new Document(objectOf(resource))
      await writeFile(path, String(document), { mode: MODE[kind], flag: 'wx' }).catch((error: unknown) => {
        throw new CommandFailure(`${path} cannot be written (${(error as NodeJS.ErrnoException).code})`)
      })
      ;(await loaded)?.push({ kind, name, path, documents: [document], document })
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
