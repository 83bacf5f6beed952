/** Answers of real upstreams (the folder that RECORDINGS names) through the byte lane. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { zeroUsage } from '../../../contract/usage.ts'
import { readAnswer } from './answer.ts'
import { parseRequest } from './request.ts'

interface Recording {
  dialect: string
  file: string
  request: Record<string, unknown>
}

const { RECORDINGS } = process.env
const recordings: Recording[] =
  RECORDINGS === undefined
    ? []
    : readFileSync(join(RECORDINGS, 'index.jsonl'), 'utf8')
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line))
        .filter(({ dialect }) => dialect === 'embeddings')

function parse(fields: object) {
  return parseRequest(Buffer.from(JSON.stringify(fields)), { maxDepth: 9, maxKeys: 99 })
}

if (RECORDINGS === undefined) {
  test('recordings of real upstreams are read only when RECORDINGS names their folder', () => {
    expect(recordings).toEqual([])
  })
} else {
  test('recordings exist', () => {
    expect(recordings.length).toBeGreaterThan(0)
  })

  describe.each(recordings)('$file', ({ file, request }) => {
    const body = readFileSync(join(RECORDINGS, file))
    const recorded = JSON.parse(body.toString())
    const { prompt_tokens, total_tokens } = recorded.usage

    test('passes unchanged', () => {
      const answer = readAnswer(body, parse(request))
      if (!('body' in answer)) throw new Error(answer.detail)
      expect(answer.body).toBe(body)
      expect(answer.usage).toEqual({ ...zeroUsage(), input: prompt_tokens ?? total_tokens })
    })

    test('numbers and base64 convert into each other', () => {
      const { encoding_format, ...rest } = request
      expect(encoding_format).toBe('base64')
      const asNumbers = readAnswer(body, parse(rest))
      if (!('body' in asNumbers)) throw new Error(asNumbers.detail)
      const [{ embedding }] = JSON.parse(asNumbers.body.toString()).data
      const bytes = Buffer.from(recorded.data[0].embedding, 'base64')
      expect(embedding).toEqual(Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(i * 4)))
      // Vectors of these models have the length one.
      expect(Math.hypot(...embedding)).toBeCloseTo(1, 3)
      const back = readAnswer(asNumbers.body, parse(request))
      expect('body' in back && JSON.parse(back.body.toString())).toEqual(recorded)
    })
  })
}
