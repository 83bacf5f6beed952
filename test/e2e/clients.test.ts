/** Runs the snippets of README.md and docs/clients.md; only the address is replaced. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { QUICKSTART_KEY, startExample } from '../harness/examples.ts'
import { type RunningGateway, startGateway } from '../harness/gateway.ts'
import { call, jsonHeaders } from '../harness/http.ts'
import { ROOT } from '../harness/program.ts'
import { apiKey, channel } from '../harness/resources.ts'
import { python, run } from '../harness/script.ts'

const ADDRESS = 'http://localhost:8080'
/** The example upstream's answer to the snippets' prompt. */
const ANSWER = 'Hello from the example upstream. You said: Hello there'

let gateway: RunningGateway

beforeAll(async () => {
  gateway = await startExample('quickstart')
})

afterAll(() => gateway?.stop())

const page = (name: string) => readFileSync(join(ROOT, name), 'utf8')

/** Fenced blocks of one language. */
const fenced = (text: string, language: string) =>
  [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].filter((b) => b[1] === language).map((b) => b[2] ?? '')

/** Indented curl commands with the lines that continue them. */
const curls = (text: string) =>
  [...text.matchAll(/^ {4}curl(?:.*\\\n)*.*$/gm)].map(([command]) => command.replace(/^ {4}/gm, ''))

/** The snippet with the gateway's address. */
function here(snippet: string): string {
  expect(snippet).toContain(ADDRESS)
  return snippet.replaceAll(ADDRESS, gateway.base)
}

const whole = page('docs/clients.md')
/** Without the part on LangChain, whose packages the tests do not install. */
const clients = whole.replace(/^## LangChain\n[\s\S]*?(?=^## )/m, '')
const readme = page('README.md')

const shell = (command: string) => run('bash', ['-c', command])
const node = (code: string, env = {}) => run(process.execPath, ['--input-type=module', '--eval', code], env)
const py = (code: string, env = {}) => run(python(), ['-c', code], env)

describe('README.md', () => {
  it('curl', async () => {
    const [command = '', ...others] = curls(readme)
    expect(others).toEqual([])
    const answer = JSON.parse(await shell(here(command)))
    expect(answer.choices[0].message.content).toBe(ANSWER)
  })

  it('the resource', async () => {
    const [yaml = '', ...others] = fenced(readme, 'yaml')
    expect(others).toEqual([])
    const own = await startGateway({
      'readme.yaml': yaml,
      'rest.yaml':
        channel('openai', 'http://127.0.0.1:9/v1') +
        channel('openai-backup', 'http://127.0.0.1:9/v1') +
        apiKey('key', QUICKSTART_KEY),
    })
    try {
      expect(JSON.parse((await call(`${own.admin}/problems`)).text)).toEqual([])
      const { text } = await call(`${own.base}/v1/models`, { headers: jsonHeaders(QUICKSTART_KEY) })
      expect(JSON.parse(text).data).toMatchObject([{ id: 'gpt-4o-mini' }])
    } finally {
      await own.stop()
    }
  })
})

describe('docs/clients.md', () => {
  it('curl', async () => {
    const [models = '', stream = '', embeddings = '', images = '', ...others] = curls(clients)
    expect(others).toEqual([])
    expect(JSON.parse(await shell(here(models))).data).toHaveLength(2)
    const events = await shell(here(stream))
    expect(events).toContain('"content":" upstream."')
    expect(events.endsWith('data: [DONE]\n\n')).toBe(true)
    const vectors = JSON.parse(await shell(here(embeddings))).data
    expect(vectors.map(({ embedding }: { embedding: number[] }) => embedding.length)).toEqual([8, 8])
    expect(JSON.parse(await shell(here(images))).data[0].b64_json).toMatch(/^iVBORw0KGgo/)
  })

  it('Node', async () => {
    const [chat = '', responses = '', aiSdk = '', embeddings = '', ...others] = fenced(clients, 'js')
    expect(others).toEqual([])
    expect(await node(here(chat))).toBe(ANSWER)
    expect(await node(here(aiSdk))).toBe(ANSWER)
    const [start = ''] = chat.split('const stream')
    expect(await node(here(`${start}${responses}`))).toBe(`${ANSWER}\n`)
    expect(await node(here(`${start}${embeddings}`))).toBe('2 8\n')
  })

  it('Python', async () => {
    const [chat = '', messages = '', images = '', models = '', ...others] = fenced(clients, 'python')
    expect(others).toEqual([])
    expect(await py(here(chat))).toBe(`${ANSWER}\n`)
    expect(await py(here(messages))).toBe(`${ANSWER}\n`)
    expect(await py(here(images))).toBe('1 1\n')
    expect(await py(here(models))).toBe("['example', 'example-free']\n")
  })

  it('the environment variables that both SDKs read', async () => {
    expect(clients).toContain('Both SDKs also read `OPENAI_BASE_URL` and `OPENAI_API_KEY`.')
    const env = { OPENAI_BASE_URL: `${gateway.base}/v1`, OPENAI_API_KEY: QUICKSTART_KEY }
    const models = '["example","example-free"]'
    const inNode = `import OpenAI from 'openai'
      const ids = []
      for await (const { id } of new OpenAI().models.list()) ids.push(id)
      console.log(JSON.stringify(ids.sort()))`
    expect(await node(inNode, env)).toBe(`${models}\n`)
    const inPython = `import json, openai
print(json.dumps(sorted(m.id for m in openai.OpenAI().models.list()), separators=(",", ":")))`
    expect(await py(inPython, env)).toBe(`${models}\n`)
  })

  it('has no other snippet', () => {
    const languages = [...clients.matchAll(/^```(\w+)$/gm)].map(([, language]) => language)
    expect(languages.sort()).toEqual(['js', 'js', 'js', 'js', 'python', 'python', 'python', 'python'])
  })

  it('Vercel AI SDK, with the other two models of its section', async () => {
    expect(clients).toContain("`sluice.chat('example')` uses `/v1/chat/completions`")
    const output = await node(
      here(`import { createAnthropic } from '@ai-sdk/anthropic'
      import { createOpenAI } from '@ai-sdk/openai'
      import { generateText } from 'ai'
      const settings = { baseURL: '${ADDRESS}/v1', apiKey: '${QUICKSTART_KEY}' }
      for (const model of [createOpenAI(settings).chat('example'), createAnthropic(settings)('example')])
        console.log((await generateText({ model, maxOutputTokens: 100, prompt: 'Hello there' })).text)`),
    )
    expect(output).toBe(`${ANSWER}\n${ANSWER}\n`)
    const endpoints = () => gateway.requests().map(({ endpoint }) => endpoint)
    await expect.poll(() => endpoints().slice(-2)).toEqual(['chat', 'messages'])
  })

  it('Cursor: the refusal of a responses body on the chat endpoint', async () => {
    const [, refusal = ''] = /refuses this with 400, `([^`]+)`/.exec(whole) ?? []
    const body = JSON.stringify({ model: 'example', input: [{ role: 'user', content: 'Hello' }] })
    const request = { headers: jsonHeaders(QUICKSTART_KEY), body }
    const answer = await call(`${gateway.base}/v1/chat/completions`, request)
    expect(answer.status).toBe(400)
    expect(JSON.parse(answer.text).error.message).toBe(refusal)
  })
})
