import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'

/** More than any pipe takes from a program whose output is not read. */
const BYTES = 4 * 1_048_576

const PROGRAM = `
import { openOutput } from '${new URL('./output.ts', import.meta.url)}'
const out = openOutput('json')
let state = 'waits'
out.write('x'.repeat(${BYTES})).then(() => { state = 'written' }, () => { state = 'refused' })
for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate)
process.stderr.write(state + ' ')
while (state === 'waits') await new Promise((resolve) => setTimeout(resolve, 5))
process.stderr.write(state)
`

function program() {
  const child = spawn(process.execPath, ['--input-type=module', '-e', PROGRAM])
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

test('a text that nobody can read any more is refused', async () => {
  const { child, said } = program()
  await once(child.stderr, 'data')
  child.stdout.destroy()
  expect(await said).toBe('waits refused')
})
