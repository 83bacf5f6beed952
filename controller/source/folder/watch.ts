/** Watches directories and says, a short while after the last event, that something may have changed. */
import { type FSWatcher, watch } from 'node:fs'
import { stat } from 'node:fs/promises'
import type { Log } from '../../../contract/log.ts'
import { errorCode } from './files.ts'

/** Quiet time that ends a burst of events, and the longest that a burst may put the answer off. */
const QUIET_MS = 30
const MAX_HOLD_OFF_MS = 200

interface Watched {
  /** Device and inode: a path may come to mean another directory. */
  inode: string
  names: Set<string> | undefined
  watcher: FSWatcher
}

export class DirectoryWatch {
  readonly #changed: () => void
  readonly #log: Log
  readonly #watched = new Map<string, Watched>()
  #timer: NodeJS.Timeout | undefined
  #burstSince: number | undefined
  #complained = false

  constructor(changed: () => void, log: Log) {
    this.#changed = changed
    this.#log = log
  }

  /** Watches exactly these directories. True when one was not watched before, so that events may have been missed. */
  async follow(directories: ReadonlyMap<string, Set<string> | undefined>): Promise<boolean> {
    let added = false
    for (const path of this.#watched.keys()) if (!directories.has(path)) this.#drop(path)
    for (const [path, names] of directories) {
      const found = await stat(path).catch(() => undefined)
      const inode = found?.isDirectory() === true ? `${found.dev}:${found.ino}` : undefined
      const current = this.#watched.get(path)
      if (current !== undefined && current.inode === inode) {
        current.names = names
        continue
      }
      this.#drop(path)
      if (inode !== undefined && this.#add(path, inode, names)) added = true
    }
    return added
  }

  /** Says "changed" after the quiet time, as if an event had come. */
  trigger(): void {
    const now = performance.now()
    this.#burstSince ??= now
    clearTimeout(this.#timer)
    const wait = Math.max(0, Math.min(QUIET_MS, this.#burstSince + MAX_HOLD_OFF_MS - now))
    this.#timer = setTimeout(() => {
      this.#burstSince = undefined
      this.#changed()
    }, wait)
  }

  close(): void {
    clearTimeout(this.#timer)
    for (const path of this.#watched.keys()) this.#drop(path)
  }

  #add(path: string, inode: string, names: Set<string> | undefined): boolean {
    try {
      const watcher = watch(path, (_, name) => {
        const wanted = this.#watched.get(path)?.names
        if (wanted === undefined || name === null || wanted.has(name)) this.trigger()
      })
      watcher.on('error', () => {
        this.#drop(path)
        this.trigger()
      })
      this.#watched.set(path, { inode, names, watcher })
      return true
    } catch (error) {
      if (!this.#complained)
        this.#log.warn(
          { path, code: errorCode(error) },
          'cannot watch a directory; edits are seen by re-reading only',
        )
      this.#complained = true
      return false
    }
  }

  #drop(path: string): void {
    this.#watched.get(path)?.watcher.close()
    this.#watched.delete(path)
  }
}
