import { expect, test } from 'vitest'
import { wholeLines } from './whole-lines.ts'

function linesOf(...pieces: Buffer[]): string[] {
  const taken: string[] = []
  const take = wholeLines((lines) => taken.push(lines))
  for (const piece of pieces) take(piece)
  return taken
}

test('passes on whole lines only, wherever a piece ends', () => {
  const text = Buffer.from('{"a":"é"}\n{"b":2}\n{"c"')
  for (let at = 0; at <= text.length; at++)
    expect(linesOf(text.subarray(0, at), text.subarray(at)).join('\n')).toBe('{"a":"é"}\n{"b":2}')
})

test('a long line may come in many pieces', () => {
  const line = 'x'.repeat(200_000)
  const pieces = Array.from({ length: 20 }, (_, n) => Buffer.from(line.slice(n * 10_000, (n + 1) * 10_000)))
  expect(linesOf(...pieces, Buffer.from('\n'))).toEqual([line])
})
