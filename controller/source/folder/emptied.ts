/** Distinguishes an emptied file from one that is being rewritten: truncated first, filled a moment later. */
import type { SourceFile } from './source-file.ts'

/** How long a file must stay empty before it counts as emptied. */
export const EMPTY_FOR_MS = 150

export class EmptiedFiles {
  #texts = new Map<string, { text: string; emptySince: number | undefined }>()

  /**
   * The effective files at `nowMs` (of a monotonic clock): a file that has just become empty keeps its last text.
   * `lookAgainInMs` is set while there are such files.
   */
  settle(files: readonly SourceFile[], nowMs: number): { files: SourceFile[]; lookAgainInMs?: number } {
    const before = this.#texts
    this.#texts = new Map()
    let emptySince: number | undefined
    const settled = files.map((file) => {
      const old = before.get(file.path)
      if ('unreadable' in file) {
        if (old !== undefined) this.#texts.set(file.path, { ...old, emptySince: undefined })
        return file
      }
      const since = old?.emptySince ?? nowMs
      if (
        file.text.trim() !== '' ||
        old === undefined ||
        old.text.trim() === '' ||
        nowMs - since >= EMPTY_FOR_MS
      ) {
        this.#texts.set(file.path, { text: file.text, emptySince: undefined })
        return file
      }
      this.#texts.set(file.path, { text: old.text, emptySince: since })
      emptySince = Math.min(emptySince ?? since, since)
      return { path: file.path, text: old.text }
    })
    if (emptySince === undefined) return { files: settled }
    return { files: settled, lookAgainInMs: emptySince + EMPTY_FOR_MS - nowMs }
  }
}
