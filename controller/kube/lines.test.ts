import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readAll } from '../../test/harness/kube-api.ts'
import { linesOf } from './lines.ts'

async function* chunks(...parts: Uint8Array[]) {
  yield* parts
}

test('lines are whole wherever the bytes are split', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.string({ unit: 'binary', minLength: 1 }).filter((text) => !text.includes('\n'))),
      fc.array(fc.nat(200)),
      async (lines, cuts) => {
        const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''))
        const ends = [...cuts.filter((cut) => cut < bytes.length), bytes.length].sort((a, b) => a - b)
        const parts = ends.map((end, i) => bytes.subarray(ends[i - 1] ?? 0, end))
        expect(await readAll(linesOf(chunks(...parts)))).toEqual(lines)
      },
    ),
  )
})

test('a stream that ends within a line is an error, after the whole lines', async () => {
  const seen: string[] = []
  const read = async () => {
    for await (const line of linesOf(chunks(Buffer.from('a\nb\nhal')))) seen.push(line)
  }
  await expect(read()).rejects.toThrow('ended within a line')
  expect(seen).toEqual(['a', 'b'])
})

test('a line is bounded, in one chunk and over several', async () => {
  const long = Buffer.alloc(11, 'x')
  await expect(readAll(linesOf(chunks(long, Buffer.from('\n')), 10))).rejects.toThrow('10 bytes')
  await expect(readAll(linesOf(chunks(Buffer.concat([long, Buffer.from('\n')])), 10))).rejects.toThrow()
  const parts = [long.subarray(5), long.subarray(6)]
  await expect(readAll(linesOf(chunks(...parts, Buffer.from('\n')), 10))).rejects.toThrow('10 bytes')
  expect(await readAll(linesOf(chunks(long.subarray(1), Buffer.from('\n')), 10))).toHaveLength(1)
})
