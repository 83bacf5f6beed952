import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'

/** More than any pipe takes from a program whose output is not read. */
const BYTES = 4 * 1_048_576

const programWith = (options: string) => `
import { openOutput } from '${new URL('./output.ts', import.meta.url)}'
const out = openOutput('json'${options})
let state = 'waits'
out.write('x'.repeat(${BYTES})).then(() => { state = 'written' }, () => { state = 'refused' })
for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate)
process.stderr.write(state + ' ')
while (state === 'waits') await new Promise((resolve) => setTimeout(resolve, 5))
process.stderr.write(state)
// A write that is stuck would keep the process.
process.kill(process.pid, 'SIGKILL')
`

function program(options = '') {
  const child = spawn(process.execPath, ['--input-type=module', '-e', programWith(options)])
  onTestFinished(() => void child.kill('SIGKILL'))
  const said = text(child.stderr)
  return { child, said }
}

test('a text counts as written when the reader of standard output has taken it, not before', async () => {
  const { child, said } = program()
  const [first] = await once(child.stderr, 'data')
  expect(String(first)).toBe('waits ')
  expect((await text(child.stdout)).length).toBe(BYTES)
  expect(await said).toBe('waits written')
})

test('a text is refused when the reader has closed standard output', async () => {
  const { child, said } = program()
  await once(child.stderr, 'data')
  child.stdout.destroy()
  expect(await said).toBe('waits refused')
})

test('a text is refused when the reader does not take it in time', async () => {
  const { said } = program(', 200')
  expect(await said).toMatch(/ refused$/)
})

test('lines are written soon, those of a later moment too, and the rest when the output closes', async () => {
  const script = `
import { openOutput } from '${new URL('./output.ts', import.meta.url)}'
const out = openOutput('json')
out.writeLine('one')
out.writeLine('two')
process.stdin.once('data', () => {
  out.writeLine('three')
  process.stdin.once('data', () => {
    out.writeLine('four')
    out.close()
    process.exit()
  })
})
`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script])
  onTestFinished(() => void child.kill('SIGKILL'))
  const seen: string[] = []
  for await (const chunk of child.stdout) {
    seen.push(...String(chunk).trimEnd().split('\n'))
    if (seen.length >= 2) child.stdin.write('\n')
  }
  expect(seen).toEqual(['one', 'two', 'three', 'four'])
})
