import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { type RunningGateway, startGateway } from '../test/harness/gateway.ts'
import { startUpstream, type Upstream } from './rig.ts'
import { PATHS } from './scenarios.ts'

const FOLDER = join(import.meta.dirname, 'onthebench')
const read = (name: string) => readFileSync(join(FOLDER, name), 'utf8')
const definition = z
  .object({
    auth: z.string(),
    model: z.string(),
    path: z.string(),
    config_files: z.array(z.object({ template: z.string() })),
  })
  .parse(JSON.parse(read('definition.json')))

/** As the suite fills in its templates. */
const filled = (template: string, port: number) =>
  template.replaceAll('{MOCK_PORT}', `${port}/json`).replaceAll('{{', '{').replaceAll('}}', '}')

let upstream: Upstream
let gateway: RunningGateway
beforeAll(async () => {
  upstream = await startUpstream()
  const files = definition.config_files.map(({ template }) => [
    `${template}.yaml`,
    filled(read(template), upstream.port),
  ])
  gateway = await startGateway(Object.fromEntries(files))
}, 120_000)
afterAll(async () => {
  await gateway?.stop()
  upstream?.stop()
})

async function ask(path: string, model: string): Promise<{ status: number; text: string }> {
  const answer = await fetch(`${gateway.base}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${definition.auth}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, max_tokens: 16, messages: [{ role: 'user', content: 'Hello' }] }),
  })
  return { status: answer.status, text: await answer.text() }
}

test('the gateway serves the suite with the key and the model of its definition', async () => {
  const { status, text } = await ask(definition.path, definition.model)
  expect(status, text).toBe(200)
  expect(text).toContain('"chat.completion"')
})

test.each([PATHS.chat, PATHS.messages])('%s is served by the upstream that speaks messages', async (path) => {
  const { status, text } = await ask(path, 'claude-3-5-sonnet-20241022')
  expect(status, text).toBe(200)
  expect((await upstream.log())['/json/v1/messages']?.finished).toBeGreaterThan(0)
})

test('every setting has a reason', () => {
  const reasons = read('why')
    .split('\n')
    .filter((line) => !line.startsWith('#'))
  const known = new Set(reasons.map((line) => line.split(/\s+/)[0]))
  const settings = read('env').matchAll(/^(\w+)=/gm)
  const fields = read('resources.gen.yaml.tmpl').matchAll(/^[ -]*(\w+):/gm)
  for (const [, name = ''] of [...settings, ...fields]) expect(known).toContain(name)
})
