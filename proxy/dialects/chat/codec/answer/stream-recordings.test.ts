import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { fold } from '../../../core/neutral/fold.ts'
import { sseEvents } from '../../../core/sse/events.ts'
import { decodeEvents } from '../testing.ts'
import { encodeParts } from './stream-testing.ts'

const { RECORDINGS } = process.env
const folder =
  RECORDINGS === undefined ? join(import.meta.dirname, '../../__fixtures__') : join(RECORDINGS, 'chat')
const files = readdirSync(folder).filter((file) => file.endsWith('.sse'))

describe(
  RECORDINGS === undefined ? 'own fixtures (RECORDINGS is not set)' : 'recordings of real upstreams',
  () => {
    test.each(files)('%s', (file) => {
      const events = [...sseEvents(readFileSync(join(folder, file)))].map((e) => e.data)
      const { parts, decoder } = decodeEvents(events)
      const chunks = events.filter((d) => d.startsWith('{')).map((d) => JSON.parse(d))
      if (chunks.some((c) => c.error)) {
        expect(decoder.failure).toBeDefined()
        return
      }
      const deltas = chunks.flatMap((c) =>
        (c.choices ?? []).map((choice: { delta?: object }) => choice.delta ?? {}),
      )
      const joined = (...fields: string[]) =>
        deltas.map((d) => fields.map((f) => d[f]).find((t) => typeof t === 'string') ?? '').join('')
      const answer = fold(parts)
      expect(answer !== undefined).toBe(decoder.finished)
      if (answer === undefined) return
      const textOf = (type: string) =>
        answer.parts.map((p) => (p.type === type && 'text' in p ? p.text : '')).join('')
      expect(textOf('text')).toBe(joined('content'))
      expect(answer.parts.map((p) => (p.type === 'reasoning' ? p.texts.join('') : '')).join('')).toBe(
        joined('reasoning_content', 'reasoning'),
      )
      const encoded = encodeParts(parts, { stream_options: { include_usage: true } })
      const again = fold(decodeEvents(encoded.data).parts)
      expect(again).toEqual(answer)
    })
  },
)
