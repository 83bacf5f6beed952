/** Where the lines of the journal go. */
import { type FileHandle, open, readdir, rename } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

export interface JournalSink {
  /** Resolves once the lines are safe. Rejects when they may not be: the same lines are then written again. */
  write(lines: string): Promise<void>
  close(): Promise<void>
}

const FILE = 'file:'

/** The sink for SLUICE_JOURNAL; undefined for `off`. `print` resolves when standard output has taken a text. */
export function sinkOf(setting: string, print: (text: string) => Promise<void>): JournalSink | undefined {
  if (setting === 'stdout') return { write: print, close: async () => {} }
  return setting.startsWith(FILE) ? fileSink(setting.slice(FILE.length)) : undefined
}

const ROTATE_BYTES = 256 * 1_048_576

/**
 * A file that survives a crash of the machine. A file of `rotateBytes` gets the next free number behind its name, and a new
 * one begins; none is removed.
 */
export function fileSink(path: string, rotateBytes = ROTATE_BYTES): JournalSink {
  let file: { handle: FileHandle; size: number } | undefined
  /** A write failed, and may have left a part of a line. */
  let isTorn = false

  const opened = async () => {
    if (file !== undefined) return file
    const handle = await open(path, 'a', 0o600)
    const { size } = await handle.stat()
    // A crash may have left a part of a line as well.
    isTorn ||= size > 0
    file = { handle, size }
    await syncFolder(path)
    return file
  }
  const close = async () => {
    const { handle } = file ?? {}
    file = undefined
    await handle?.close()
  }

  return {
    async write(lines) {
      const current = await opened()
      const text = isTorn ? `\n${lines}` : lines
      try {
        isTorn = true
        await current.handle.appendFile(text)
        await current.handle.datasync()
        isTorn = false
      } catch (error) {
        await close().catch(() => {})
        throw error
      }
      current.size += Buffer.byteLength(text)
      if (current.size < rotateBytes) return
      await close()
      await rename(path, await nextName(path))
      await syncFolder(path)
      isTorn = false
    },
    close,
  }
}

async function nextName(path: string): Promise<string> {
  const prefix = `${basename(path)}.`
  const numbers = (await readdir(dirname(path))).flatMap((name) => {
    const number = name.startsWith(prefix) ? Number(name.slice(prefix.length)) : Number.NaN
    return Number.isInteger(number) ? [number] : []
  })
  return join(dirname(path), `${prefix}${Math.max(0, ...numbers) + 1}`)
}

/** Makes a new name of a file survive a crash. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(dirname(path), 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
