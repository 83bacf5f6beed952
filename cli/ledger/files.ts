/** Reads files of the ledger journal; `-` is standard input. */
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { CommandFailure } from '../command.ts'
import { JournalLines } from './lines.ts'

/** Throws CommandFailure for a file that cannot be read. */
export async function readFiles(files: readonly string[]): Promise<JournalLines> {
  const lines = new JournalLines()
  for (const file of files) await readInto(lines, file)
  return lines
}

async function readInto(lines: JournalLines, file: string): Promise<void> {
  const input = file === '-' ? process.stdin : createReadStream(file)
  try {
    for await (const text of createInterface({ input, crlfDelay: Infinity })) lines.add(text)
  } catch (error) {
    throw new CommandFailure(`${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'error'})`)
  }
}
