/** Watches directories and reports, a short while after the last event, that something may have changed. */
import { type FSWatcher, watch } from 'node:fs'
import { stat } from 'node:fs/promises'
import type { Log } from '../../../contract/log.ts'
import { errorCode } from './files.ts'

/** Quiet time that ends a burst of events, and the longest delay by a burst. */
const QUIET_MS = 30
const MAX_HOLD_OFF_MS = 200

interface Watched {
  /** Device and inode, because another directory may appear at the path. */
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
  #warned = false

  constructor(changed: () => void, log: Log) {
    this.#changed = changed
    this.#log = log
  }

  /** Watches exactly these directories. True if one is new, so that events may have been missed. */
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

  /** Reports a change after the quiet time, as after an event. */
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
      if (!this.#warned)
        this.#log.warn(
          { path, code: errorCode(error) },
          'cannot watch a directory; its edits are only noticed by periodic reading',
        )
      this.#warned = true
      return false
    }
  }

  #drop(path: string): void {
    this.#watched.get(path)?.watcher.close()
    this.#watched.delete(path)
  }
}
