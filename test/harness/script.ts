/** Runs snippets and scripts to completion. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { basicEnv } from './basic-env.ts'
import { ROOT } from './program.ts'

/** Path of the Python with the official SDKs. Throws if it is missing. */
export function python(): string {
  const path = join(ROOT, '.venv/bin/python')
  if (!existsSync(path)) throw new Error('.venv is missing: `make test` makes it')
  return path
}

/** Runs a program in the checkout and returns its stdout. Rejects with its output if it fails. */
export async function run(
  program: string,
  args: string[],
  env: Record<string, string> = {},
): Promise<string> {
  const child = spawn(program, args, {
    cwd: ROOT,
    env: { ...basicEnv(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  let errors = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text
  })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`${program} ended with ${code}:\n${errors}${output}`)
  return output
}
