/**
 * Inputs for the laws: hand-written files in __fixtures__, one for each shape of the interfaces, and recordings of real
 * upstreams in the folder that the variable RECORDINGS names.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isRecord } from '../../../proxy/dialects/core/json/value.ts'
import { type DialectName, NAMES } from './codecs.ts'

type Json = Record<string, unknown>
export type Kind = 'requests' | 'answers' | 'streams'

const OWN = join(import.meta.dirname, '__fixtures__')

export interface Fixture<T> {
  dialect: DialectName
  name: string
  content: T
}

function files(kind: Kind): Fixture<string>[] {
  return NAMES.flatMap((dialect) => {
    const folder = join(OWN, dialect, kind)
    return readdirSync(folder).map((file) => ({
      dialect,
      name: file.replace(/\.\w+$/, ''),
      content: readFileSync(join(folder, file), 'utf8'),
    }))
  })
}

const parsed = (kind: Kind): Fixture<Json>[] =>
  files(kind).map((file) => ({ ...file, content: JSON.parse(file.content) }))

/** Bodies as clients send them. */
export const REQUESTS = parsed('requests')
/** Whole answers with status 200, errors among them. */
export const ANSWERS = parsed('answers')
/** Event streams as bytes on the wire. */
export const STREAMS = files('streams')

/** How a fixture stream ends, by its name. */
export function endOf(name: string): 'complete' | 'error' | 'cut' {
  if (/^(error|failed)/.test(name)) return 'error'
  return name.startsWith('cut-') ? 'cut' : 'complete'
}

export interface Recording {
  /** Path below RECORDINGS. */
  file: string
  dialect: DialectName
  stream: boolean
  status: number
  request: Json | undefined
  text: string
}

/** All recordings of the three dialects; empty if RECORDINGS is not set. */
export function recordings(): Recording[] {
  const folder = process.env.RECORDINGS
  if (!folder) return []
  const lines = readFileSync(join(folder, 'index.jsonl'), 'utf8').split('\n')
  return lines
    .filter((line) => line !== '')
    .flatMap((line) => {
      const entry: unknown = JSON.parse(line)
      if (!isRecord(entry) || typeof entry.file !== 'string') return []
      const dialect = NAMES.find((name) => name === entry.dialect)
      if (dialect === undefined) return []
      return {
        file: entry.file,
        dialect,
        stream: entry.stream === true,
        status: typeof entry.status === 'number' ? entry.status : 200,
        request: isRecord(entry.request) ? entry.request : undefined,
        text: readFileSync(join(folder, entry.file), 'utf8'),
      }
    })
}
