/** The example folders: each starts without problems, and those for external upstreams serve requests. */
import { afterEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { exampleNames, exampleText, startExample } from '../harness/examples.ts'
import { type RunningGateway, startGateway, until } from '../harness/gateway.ts'
import { call, chatBody, jsonHeaders } from '../harness/http.ts'
import { collect, HELLO, openai } from '../harness/sdk.ts'
import { type ScriptedUpstream, startUpstream } from '../harness/upstream.ts'

/** Environment variables that the folders need, as their first lines say. */
const PROVIDER_KEYS = { OPENAI_API_KEY: 'sk-provider-one-0123', ANTHROPIC_API_KEY: 'sk-provider-two-0123' }
/** The default in the example folders. */
const KEY = 'sk-local-0123456789abcdef'

const problemList = z.array(
  z.object({ file: z.string(), line: z.number(), subject: z.string().optional(), message: z.string() }),
)
const statusList = z.array(
  z.object({
    kind: z.string(),
    name: z.string(),
    status: z.looseObject({ conditions: z.array(z.object({ type: z.string(), status: z.string() })) }),
  }),
)

const running: (RunningGateway | ScriptedUpstream)[] = []
const track = <T extends RunningGateway | ScriptedUpstream>(started: T): T => {
  running.push(started)
  return started
}

afterEach(async () => {
  for (const one of running.splice(0)) await ('stop' in one ? one.stop() : one.close())
})

const problemsOf = async ({ admin }: RunningGateway) =>
  problemList.parse(JSON.parse((await call(`${admin}/problems`)).text))

const statusesOf = async ({ admin }: RunningGateway) =>
  statusList.parse(JSON.parse((await call(`${admin}/resources`)).text))

describe('every example', () => {
  it('is in this list', () => {
    expect(exampleNames().sort()).toEqual(['hosted-chat', 'local-model', 'messages-api', 'quickstart'])
  })

  it.each(exampleNames())('%s starts without problems and is ready', async (name) => {
    const gateway = track(await startExample(name, PROVIDER_KEYS))
    expect(await problemsOf(gateway)).toEqual([])
    const ready = async () => {
      const statuses = await statusesOf(gateway)
      const isReady = ({ status }: (typeof statuses)[number]) =>
        status.conditions.some(({ type, status }) => type === 'Ready' && status === 'True')
      const waiting = statuses.filter((one) => !isReady(one)).map(({ kind, name }) => `${kind}/${name}`)
      return statuses.length > 0 && waiting.length === 0
    }
    await until(ready, 'all resources to be ready')
    for (const secret of Object.values(PROVIDER_KEYS)) expect(gateway.output()).not.toContain(secret)
  })
})

describe('local-model', () => {
  it('serves any model under local/, without a credential', async () => {
    const upstream = track(await startUpstream())
    const gateway = track(await startExample('local-model', { LOCAL_MODEL_URL: upstream.baseURL }))
    const client = openai(gateway.base, KEY)
    const answer = await client.chat.completions.create({ model: 'local/llama3.2:1b', messages: HELLO })
    expect(answer.choices[0]?.message.content).toBe('Hello there')
    const [sent] = upstream.calls
    expect(JSON.parse(sent?.body.toString() ?? '')).toEqual({ model: 'llama3.2:1b', messages: HELLO })
    expect(sent?.headers.authorization).toBeUndefined()
    const stream = await client.chat.completions.create({ model: 'local/x', messages: HELLO, stream: true })
    const text = (await collect(stream)).map(({ choices }) => choices[0]?.delta.content ?? '').join('')
    expect(text).toBe('Hello there')
  })

  it('takes the clients’ key from the environment', async () => {
    const upstream = track(await startUpstream())
    const own = 'sk-chosen-by-the-operator'
    const gateway = track(
      await startExample('local-model', { LOCAL_MODEL_URL: upstream.baseURL, GATEWAY_KEY: own }),
    )
    const ask = (key: string) =>
      call(`${gateway.base}/v1/chat/completions`, { headers: jsonHeaders(key), body: chatBody('local/m') })
    expect((await ask(own)).status).toBe(200)
    expect((await ask(KEY)).status).toBe(401)
  })
})

describe('hosted-chat', () => {
  const text = exampleText('hosted-chat', 'config.yaml')
  const PROVIDER = 'https://api.openai.com/v1'

  it('sends the provider’s key from the environment, and no client headers', async () => {
    const upstream = track(await startUpstream())
    expect(text.split(PROVIDER)).toHaveLength(2)
    const { OPENAI_API_KEY } = PROVIDER_KEYS
    const gateway = track(
      await startGateway({ 'config.yaml': text.replace(PROVIDER, upstream.baseURL) }, { OPENAI_API_KEY }),
    )
    const client = openai(gateway.base, KEY, { defaultHeaders: { 'openai-organization': 'org-client' } })
    const answer = await client.chat.completions.create({ model: 'gpt-4o-mini', messages: HELLO })
    expect(answer.choices[0]?.message.content).toBe('Hello there')
    const [sent] = upstream.calls
    expect(sent?.headers.authorization).toBe(`Bearer ${OPENAI_API_KEY}`)
    expect(JSON.stringify(sent?.headers)).not.toContain(KEY)
    expect(sent?.headers['openai-organization']).toBeUndefined()
    expect(gateway.output()).not.toContain(OPENAI_API_KEY)
  })

  it('reports where a variable is missing, and still answers', async () => {
    const gateway = track(await startExample('hosted-chat'))
    const line = text.split('\n').findIndex((each) => /\$\{OPENAI_API_KEY\}/.test(each)) + 1
    const [problem, ...others] = await problemsOf(gateway)
    expect(others).toEqual([])
    expect(problem).toMatchObject({ subject: 'Secret/openai', line })
    expect(problem?.file).toMatch(/\/hosted-chat\/config\.yaml$/)
    expect(problem?.message).toContain('OPENAI_API_KEY')
    expect(gateway.output()).toContain(`hosted-chat/config.yaml:${line}:`)
    const answer = await call(`${gateway.base}/v1/chat/completions`, {
      headers: jsonHeaders(KEY),
      body: chatBody('gpt-4o-mini'),
    })
    expect(answer.status).toBe(502)
  })
})
