import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { ephemeralKeyRing, readKeyRing, SealBroken, SealingKeysError } from './sealing.ts'

const secret = (byte: number) => Buffer.alloc(32, byte).toString('base64')
const ONE = `one:${secret(1)}`
const TWO = `two:${secret(2)}`
const NAME = 'sluice:{cfg}:key:abc'
const TEXT = JSON.stringify({ secret: 'sk-upstream', name: 'ü' })

let dir: string
let logged: unknown[]
const log = {
  info: (...line: unknown[]) => logged.push(line),
  warn: (...line: unknown[]) => logged.push(line),
  error: (...line: unknown[]) => logged.push(line),
}
const file = () => join(dir, 'keys')
const write = (...lines: string[]) => writeFileSync(file(), `${lines.join('\n')}\n`)
const ring = (...lines: string[]) => {
  write(...lines)
  return readKeyRing(file(), log)
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance', 'setInterval', 'clearInterval'] })
  dir = mkdtempSync(join(tmpdir(), 'sluice-sealing-'))
  logged = []
})
afterEach(() => {
  vi.useRealTimers()
  rmSync(dir, { recursive: true })
})

describe('a sealed record', () => {
  test('opens to the original text, and does not reveal it', () => {
    const keys = ring('# comment', '', ONE, TWO)
    const sealed = keys.seal(NAME, TEXT)
    expect(keys.open(NAME, sealed)).toEqual({ text: TEXT, kid: 'one' })
    expect(sealed).not.toContain('upstream')
    expect(Buffer.from(JSON.parse(sealed).ct, 'base64').toString('latin1')).not.toContain('upstream')
  })

  test('is different each time', () => {
    const keys = ring(ONE)
    const ivs = Array.from({ length: 100 }, () => JSON.parse(keys.seal(NAME, TEXT)).iv)
    expect(new Set(ivs).size).toBe(100)
    expect(Buffer.from(ivs[0], 'base64')).toHaveLength(12)
  })

  test('does not open under another name', () => {
    const keys = ring(ONE)
    expect(() => keys.open(`${NAME}d`, keys.seal(NAME, TEXT))).toThrow(SealBroken)
  })

  test.each([
    ['nothing', () => ''],
    ['no JSON', () => 'x'],
    ['JSON of something else', () => '{"kid":"one"}'],
    ['the record unsealed', () => TEXT],
    ['a truncated one', (sealed: string) => sealed.slice(0, -10)],
    ['one without its end', (sealed: string) => changed(sealed, (ct) => ct.subarray(0, -1))],
    ['one with nothing but its tag', (sealed: string) => changed(sealed, (ct) => ct.subarray(-16))],
    ['one with half a tag', (sealed: string) => changed(sealed, (ct) => ct.subarray(-8))],
    ['one with a flipped bit', (sealed: string) => changed(sealed, (ct) => ct.fill((ct[0] ?? 0) ^ 1, 0, 1))],
  ])('%s does not open', (_what, change) => {
    const keys = ring(ONE)
    expect(() => keys.open(NAME, change(keys.seal(NAME, TEXT)))).toThrow(SealBroken)
  })

  test('does not open under another key, whether its id is known or not', () => {
    const sealed = ring(ONE).seal(NAME, TEXT)
    expect(() => ring(TWO).open(NAME, sealed)).toThrow(SealBroken)
    expect(() => ring(`one:${secret(2)}`).open(NAME, sealed)).toThrow(SealBroken)
  })
})

describe('the file', () => {
  test('is read again when it changes: the new first key seals, the old one opens as long as it is in the file', () => {
    const keys = ring(ONE)
    const old = keys.seal(NAME, TEXT)
    write(TWO, ONE)
    vi.advanceTimersByTime(10_000)
    expect(keys.sealsWith()).toBe('two')
    expect(keys.open(NAME, old).kid).toBe('one')
    write(TWO)
    vi.advanceTimersByTime(10_000)
    expect(() => keys.open(NAME, old)).toThrow(SealBroken)
  })

  test('is read again soon for an unknown key', () => {
    const keys = ring(ONE)
    write(TWO, ONE)
    const byTwo = readKeyRing(file(), log).seal(NAME, TEXT)
    vi.advanceTimersByTime(1_000)
    expect(keys.sealsWith()).toBe('one')
    expect(keys.open(NAME, byTwo)).toEqual({ text: TEXT, kid: 'two' })
  })

  test('that has become invalid leaves the keys unchanged and logs one error', () => {
    const keys = ring(ONE)
    const sealed = keys.seal(NAME, TEXT)
    for (const spoil of [() => write('nonsense'), () => rmSync(file())]) {
      logged = []
      spoil()
      vi.advanceTimersByTime(30_000)
      expect(keys.open(NAME, sealed).text).toBe(TEXT)
      expect(keys.sealsWith()).toBe('one')
      expect(logged).toHaveLength(1)
    }
    logged = []
    write(ONE)
    vi.advanceTimersByTime(10_000)
    // Logged although the keys are the same: the operator who restored them waits for it.
    expect(logged).toEqual([[{ path: file(), keys: ['one'] }, expect.any(String)]])
    write(TWO, ONE)
    vi.advanceTimersByTime(10_000)
    expect(keys.sealsWith()).toBe('two')
  })

  test('is read again also while the ring is idle', () => {
    ring(ONE)
    write(ONE, TWO)
    vi.advanceTimersByTime(5_000)
    expect(logged).toEqual([[{ path: file(), keys: ['one', 'two'] }, expect.any(String)]])
    vi.advanceTimersByTime(60_000)
    expect(logged).toHaveLength(1)
  })

  test('is read again when a mounted Secret is switched, even to a file of the same size and time', () => {
    // As kubelet does: keys -> ..data/keys, ..data -> a folder named by time, switched by a rename.
    const mounted = (folder: string, line: string) => {
      mkdirSync(join(dir, folder))
      writeFileSync(join(dir, folder, 'keys'), line)
      utimesSync(join(dir, folder, 'keys'), 1, 1)
      symlinkSync(folder, join(dir, '..data_tmp'))
      renameSync(join(dir, '..data_tmp'), join(dir, '..data'))
    }
    mounted('..2030_01', ONE)
    symlinkSync('..data/keys', file())
    const keys = readKeyRing(file(), log)
    expect(keys.sealsWith()).toBe('one')
    mounted('..2030_02', TWO)
    rmSync(join(dir, '..2030_01'), { recursive: true })
    vi.advanceTimersByTime(5_000)
    expect(keys.sealsWith()).toBe('two')
  })

  test('is not read for every record with an unknown key', () => {
    const keys = ring(ONE)
    const foreign = ring(TWO).seal(NAME, TEXT)
    write(ONE)
    expect(() => keys.open(NAME, foreign)).toThrow(SealBroken)
    write(TWO, ONE)
    vi.advanceTimersByTime(499)
    expect(() => keys.open(NAME, foreign)).toThrow(SealBroken)
    vi.advanceTimersByTime(1)
    expect(keys.open(NAME, foreign).text).toBe(TEXT)
  })

  test.each([
    ['a line that is not a key', ['# first', 'secret-without-id'], /keys line 2: must be <id>:/],
    ['a key too short', [ONE, `two:${Buffer.alloc(16).toString('base64')}`], /line 2: .*has 16$/],
    ['no base64', [`one:${'$'.repeat(43)}`], /line 1: must be/],
    ['an id twice', [ONE, `one:${secret(9)}`], /line 2: has an id that an earlier line has/],
    ['no key', ['# only', ''], /contains no key$/],
  ])('with %s is refused; the error names the line and does not quote it', (_what, lines, message) => {
    const error = failure(() => ring(...lines))
    expect(error).toBeInstanceOf(SealingKeysError)
    expect(error.message).toMatch(message)
    for (const line of lines.filter((text) => text.length > 10)) expect(error.message).not.toContain(line)
  })

  test('that does not exist is refused by its path', () => {
    expect(failure(() => readKeyRing(file(), log)).message).toBe(`${file()} cannot be read: ENOENT`)
  })
})

function changed(sealed: string, change: (ct: Buffer) => Buffer): string {
  const envelope = JSON.parse(sealed)
  return JSON.stringify({ ...envelope, ct: change(Buffer.from(envelope.ct, 'base64')).toString('base64') })
}

function failure(work: () => unknown): Error {
  try {
    work()
  } catch (error) {
    if (error instanceof Error) return error
  }
  throw new Error('nothing was thrown')
}

test('an envelope written in another form of base64 does not open', () => {
  const ring = ephemeralKeyRing()
  // Long enough that `+` and `/` occur.
  const sealed = ring.seal('a', 'text '.repeat(200))
  const envelope: { ct: string } = JSON.parse(sealed)
  const { ct } = envelope
  expect(ct).toMatch(/[+/]/)
  expect(ring.open('a', JSON.stringify(envelope)).text).toBe('text '.repeat(200))
  for (const other of [ct.replaceAll('+', '-').replaceAll('/', '_'), ` ${ct}`, `${ct}\n`, `${ct}!`])
    expect(() => ring.open('a', JSON.stringify({ ...envelope, ct: other }))).toThrow(SealBroken)
})
