/** Caches the parsed documents of files, so that only edited files are parsed again. */
import { type FileDocuments, readDocuments } from './documents.ts'
import type { SourceFile } from './source-file.ts'

export class DocumentCache {
  readonly #parse: typeof readDocuments
  #files = new Map<string, { text: string; documents: FileDocuments }>()

  constructor(parse: typeof readDocuments = readDocuments) {
    this.#parse = parse
  }

  /** Documents of the readable files, by path. All other files are forgotten. */
  read(files: readonly SourceFile[]): Map<string, FileDocuments> {
    const before = this.#files
    this.#files = new Map()
    for (const file of files) {
      if ('unreadable' in file) continue
      const { path, text } = file
      const known = before.get(path)
      const same = known?.text === text ? known : { text, documents: this.#parse(path, text) }
      this.#files.set(path, same)
    }
    return new Map([...this.#files].map(([path, { documents }]) => [path, documents]))
  }
}
