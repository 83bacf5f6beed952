/** examples/compose as its README says, without containers: SDK traffic through both proxies, and what dies meanwhile. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type OpenAI from 'openai'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { type Composed, composeUp } from '../harness/compose.ts'
import { until } from '../harness/gateway.ts'
import { nanos } from '../harness/ledger.ts'
import { route } from '../harness/resources.ts'
import { HELLO, openai } from '../harness/sdk.ts'

let up: Composed
let clients: OpenAI[]
/** What all answers so far must have cost, in nano-dollars. */
let spent = 0

beforeAll(async () => {
  up = await composeUp()
  clients = ['proxy-1', 'proxy-2'].map((name) =>
    openai(`http://${at(name)}:8080`, up.env.CLIENT_KEY ?? '', { maxRetries: 5 }),
  )
})
afterAll(() => up?.stop())

function at(name: string): string {
  const service = up.services[name]
  if (service === undefined) throw new Error(`compose.yaml has no service ${name}`)
  return service.address
}

/** A JSON answer and a stream through each proxy. Prices are those of config/upstream.yaml. */
async function converse(): Promise<void> {
  for (const client of clients) {
    const answer = await client.chat.completions.create({ model: 'example', messages: HELLO })
    expect(answer.choices[0]?.message.content).toContain('Hello')
    const stream = await client.chat.completions.create({
      ...{ model: 'example', messages: HELLO, stream: true, stream_options: { include_usage: true } },
    })
    let usage = answer.usage
    charge(usage)
    usage = undefined
    for await (const chunk of stream) usage = chunk.usage ?? usage
    charge(usage)
  }
}

function charge(usage: OpenAI.CompletionUsage | undefined): void {
  if (usage === undefined) throw new Error('an answer without usage')
  spent += usage.prompt_tokens * 1_000 + usage.completion_tokens * 4_000
}

const resources = z.array(
  z.looseObject({
    kind: z.string(),
    name: z.string(),
    status: z.looseObject({ balance: z.string().optional() }),
  }),
)

/** The balance of the account team, once nothing is held. */
async function balance(): Promise<number> {
  const settled = async () => {
    const headers = { 'x-sluice-admin-token': up.env.ADMIN_TOKEN ?? '' }
    const answer = await fetch(`http://${at('controller')}:8081/resources`, { headers })
    const team = resources
      .parse(await answer.json())
      .find(({ kind, name }) => kind === 'Account' && name === 'team')
    return team?.status.held === '0' ? team.status.balance : undefined
  }
  return nanos(await until(settled, 'all settles', 30_000))
}

test('both proxies serve the SDK, and charge what the answers cost', async () => {
  await converse()
  expect(await balance()).toBe(nanos('5') - spent)
})

test('the admin pages need the token', async () => {
  expect((await fetch(`http://${at('controller')}:8081/resources`)).status).toBe(403)
})

test('the leader is killed: traffic continues, and after its restart a change is in force', async () => {
  const { process: leader } = up.services.controller ?? {}
  if (leader === undefined) throw new Error('compose.yaml has no service controller')
  leader.kill('SIGKILL')
  await leader.exited
  writeFileSync(
    join(up.config, 'more.yaml'),
    route('more', 'more', [{ name: 'example', model: 'example-model' }]),
  )
  await converse()
  await leader.restart()
  const served = async () => {
    const answers = clients.map((client) =>
      client.chat.completions.create({ model: 'more', messages: HELLO }),
    )
    return (await Promise.allSettled(answers)).every(({ status }) => status === 'fulfilled')
  }
  // Its old key lasts for 15 s.
  await until(served, 'the new model', 30_000)
  expect(await balance()).toBe(nanos('5') - spent)
})

test('Redis is killed: what its append-only file has stays', async () => {
  const { process: redis } = up.services.redis ?? {}
  if (redis === undefined) throw new Error('compose.yaml has no service redis')
  await converse()
  const before = await balance()
  expect(before).toBe(nanos('5') - spent)
  redis.kill('SIGKILL')
  await redis.exited
  await redis.restart()
  const served = () =>
    converse().then(
      () => true,
      () => false,
    )
  const charged = spent
  await until(served, 'requests after the restart', 30_000)
  expect(spent).toBeGreaterThan(charged)
  // An attempt that failed half way may have been charged as well.
  expect(await balance()).toBeLessThanOrEqual(before - (spent - charged))
  expect(await balance()).toBeGreaterThan(before - 4 * (spent - charged))
  expect(up.services.controller?.output()).not.toContain('its balance was restored')
})

test('Prometheus scrapes all three with the alerts, and sees the leader', async () => {
  const query = async (path: string) => (await fetch(`http://${at('prometheus')}:9090/api/v1/${path}`)).json()
  const value = z.object({
    data: z.object({ result: z.array(z.object({ value: z.tuple([z.number(), z.string()]) })) }),
  })
  const one = async (expression: string) =>
    value.parse(await query(`query?query=${encodeURIComponent(expression)}`)).data.result[0]?.value[1]
  await until(async () => (await one('sum(up{job="sluice"})')) === '3', 'three targets', 60_000)
  await until(async () => (await one('sum(sluice_controller_leader)')) === '1', 'a leader', 60_000)
  const names = (text: string) =>
    [...text.matchAll(/alert"?: "?(\w+)|"name":"(Sluice\w+)"/g)].map(([, a, b]) => a ?? b)
  const rules = names(readFileSync('helm/sluice/files/rules.yaml', 'utf8'))
  expect(names(JSON.stringify(await query('rules'))).sort()).toEqual(rules.sort())
})

test('SIGTERM stops every program, and the balance is in the volume of the controller', async () => {
  await converse()
  const last = await balance()
  for (const name of ['proxy-1', 'proxy-2']) {
    const proxy = up.services[name]?.process
    proxy?.kill('SIGTERM')
    await proxy?.exited
  }
  const controller = up.services.controller
  controller?.process.kill('SIGTERM')
  await controller?.process.exited
  const { accounts } = JSON.parse(readFileSync(join(up.volume('state'), 'ledger.json'), 'utf8'))
  expect(Object.values(accounts)).toMatchObject([{ credited: nanos('5'), spent: nanos('5') - last }])
})
