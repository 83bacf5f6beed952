/**
 * The resources of a folder that are in force. An invalid document changes nothing: the last good version of its resource
 * stays, as after a refused `kubectl apply`.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Metadata } from '../../../contract/api/index.ts'
import { addTo, emptySnapshot, type InvalidResource, type Snapshot } from '../../snapshot.ts'
import type { Fault } from '../explain.ts'
import { DocumentCache } from './document-cache.ts'
import type { FileDocuments, SourceDocument } from './documents.ts'
import { itemsOf } from './items.ts'
import { type Content, type Identity, parseDocument } from './parse.ts'
import type { Problem } from './problem.ts'
import type { SourceFile } from './source-file.ts'

interface Entry {
  identity: Identity
  content: Content
  file: string
  createdAt: number
  generation: number
}

/** An invalid document whose resource is known. */
interface Refused {
  identity: Identity
  createdAt: number | undefined
  message: string
}

interface CatalogueOptions {
  namespace: string
  /** Allows other namespaces than `namespace`. */
  anyNamespace?: boolean
  env: Readonly<Record<string, string | undefined>>
}

export interface Reading {
  snapshot: Snapshot
  problems: Problem[]
  /** Text that kubectl would parse differently. */
  doubts: Problem[]
}

export class Catalogue {
  readonly #options: CatalogueOptions
  readonly #cache = new DocumentCache()
  #entries = new Map<string, Entry>()
  /** When a resource that was never valid was first seen. */
  #refusedSince = new Map<string, number>()

  constructor(options: CatalogueOptions) {
    this.#options = options
  }

  /** Takes all files of the folder, sorted by path, at `now` (milliseconds since the epoch). */
  update(files: readonly SourceFile[], now: number): Reading {
    const pass = new Pass(this.#options, this.#entries, Math.floor(now / 1000) * 1000)
    const documents = this.#cache.read(files)
    for (const file of files) pass.file(file, documents.get(file.path))
    const refused = pass.settle()
    this.#entries = pass.entries
    this.#refusedSince = new Map(
      refused.map((item) => {
        const id = idOf(item.identity)
        return [id, item.createdAt ?? this.#refusedSince.get(id) ?? pass.now]
      }),
    )
    return { snapshot: this.#snapshot(refused), problems: pass.problems, doubts: pass.doubts }
  }

  #snapshot(refused: Refused[]): Snapshot {
    const snapshot = emptySnapshot()
    for (const { identity, content, createdAt, generation } of this.#entries.values()) {
      const metadata: Metadata = { namespace: identity.namespace, name: identity.name, generation, createdAt }
      if (content.kind === 'Secret')
        snapshot.secrets.set(`${identity.namespace}/${identity.name}`, content.data)
      else addTo(snapshot, { ...content, metadata })
    }
    snapshot.invalid = refused.flatMap((item) => this.#invalid(item))
    return snapshot
  }

  #invalid({ identity, message }: Refused): InvalidResource[] {
    const { kind, namespace, name } = identity
    // A Secret has no status; its problem is reported, and resources that refer to it get a condition.
    if (kind === 'Secret') return []
    const createdAt = this.#refusedSince.get(idOf(identity)) ?? 0
    return [{ kind, metadata: { namespace, name, generation: 1, createdAt }, message }]
  }
}

const idOf = ({ kind, namespace, name }: Identity) => `${kind}/${namespace}/${name}`
const subjectOf = ({ kind, name }: Identity) => `${kind}/${name}`

/** One reading of all files, compared with the resources in force. */
class Pass {
  readonly now: number
  readonly entries = new Map<string, Entry>()
  readonly problems: Problem[] = []
  readonly doubts: Problem[] = []
  readonly #options: CatalogueOptions
  readonly #before: ReadonlyMap<string, Entry>
  readonly #refused = new Map<string, Refused>()
  /** Ids of resources whose edit was refused. */
  readonly #held = new Set<string>()
  readonly #first = new Map<string, SourceDocument>()
  /** Files that could not be fully understood: resources from them may still exist. */
  readonly #unclearFiles = new Set<string>()

  constructor(options: CatalogueOptions, before: ReadonlyMap<string, Entry>, now: number) {
    this.#options = options
    this.#before = before
    this.now = now
  }

  /** `read`: the documents of the file; undefined if it cannot be read. */
  file(file: SourceFile, read: FileDocuments | undefined): void {
    if ('unreadable' in file) {
      this.#unclearFiles.add(file.path)
      const message = `cannot be read: ${file.unreadable}`
      this.problems.push({ file: file.path, line: 1, column: 1, subject: undefined, message })
    }
    if (read === undefined) return
    const { documents, problems, doubts } = read
    if (problems.length > 0) this.#unclearFiles.add(file.path)
    this.problems.push(...problems)
    this.doubts.push(...doubts)
    for (const document of documents.flatMap(itemsOf)) this.#document(document)
  }

  #document(document: SourceDocument): void {
    const reading = parseDocument(document.value, {
      ...this.#options,
      inForce: (identity) => this.#before.get(idOf(identity))?.content,
    })
    switch (reading.outcome) {
      case 'anonymous':
        if (!reading.foreign) this.#unclearFiles.add(document.file)
        this.#report(document, reading.subject, reading.faults)
        break
      case 'bad': {
        const { identity, createdAt, faults } = reading
        this.#report(document, subjectOf(identity), faults)
        this.#hold(identity, document.file)
        this.#refused.set(idOf(identity), {
          identity,
          createdAt: createdAt === undefined ? undefined : Math.floor(createdAt / 1000) * 1000,
          message: faults.map((fault) => fault.message).join('; '),
        })
        break
      }
      case 'good':
        this.#accept(document, reading.identity, reading.createdAt, reading.content)
        break
    }
  }

  #hold(identity: Identity, file: string): void {
    this.#held.add(idOf(identity))
    // An edit that moves a resource to a foreign namespace is refused like any other.
    const own = idOf({ ...identity, namespace: this.#options.namespace })
    if (this.#before.get(own)?.file === file) this.#held.add(own)
  }

  #accept(document: SourceDocument, identity: Identity, stamp: number | undefined, content: Content): void {
    const id = idOf(identity)
    const first = this.#first.get(id)
    if (first !== undefined) {
      const { line, column } = first.locate([])
      const at = `${first.file}:${line}:${column}`
      const message = `is defined twice, and the first definition counts (${at}); remove or rename one of them`
      this.#report(document, subjectOf(identity), [{ path: ['metadata', 'name'], message }])
      return
    }
    this.#first.set(id, document)
    const old = this.#before.get(id)
    const changed = old !== undefined && !isDeepStrictEqual(old.content, content)
    this.entries.set(id, {
      identity,
      content,
      file: document.file,
      createdAt: stamp === undefined ? (old?.createdAt ?? this.now) : Math.floor(stamp / 1000) * 1000,
      generation: (old?.generation ?? 1) + (changed ? 1 : 0),
    })
  }

  /** Keeps resources that may still exist; returns the refused ones that have no earlier good version. */
  settle(): Refused[] {
    for (const [id, entry] of this.#before) {
      const doubtful = this.#held.has(id) || this.#unclearFiles.has(entry.file)
      if (doubtful && !this.entries.has(id)) this.entries.set(id, entry)
    }
    return [...this.#refused].filter(([id]) => !this.entries.has(id)).map(([, refused]) => refused)
  }

  #report(document: SourceDocument, subject: string | undefined, faults: readonly Fault[]): void {
    for (const { path, message } of faults)
      this.problems.push({ file: document.file, ...document.locate(path), subject, message })
  }
}
