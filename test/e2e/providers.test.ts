/**
 * The recipes of docs/providers.md: `sluice validate --strict` accepts each, and with the provider's host replaced by a
 * scripted upstream, each command of the page arrives there at the path and with the headers that the provider documents.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { validate } from '../../cli/validate.ts'
import { endpointBase } from '../../contract/channel-types.ts'
import { type RunningGateway, startGateway } from '../harness/gateway.ts'
import { call, chatBody, jsonHeaders } from '../harness/http.ts'
import { ROOT } from '../harness/program.ts'
import { run } from '../harness/script.ts'
import { chatAnswer, chatEvents, type ScriptedUpstream, startUpstream } from '../harness/upstream.ts'

const page = readFileSync(join(ROOT, 'docs/providers.md'), 'utf8')
const ADDRESS = 'http://localhost:8080'
const KEY = 'sk-local-0123456789abcdef'

/** The parts of the page that a heading begins. */
const sections = page.split(/^## /m).slice(1)
const recipes = sections.flatMap((text) => {
  const [title = ''] = text.split('\n')
  const yamls = [...text.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, yaml = '']) => yaml)
  const curl = /^ {4}curl(?:.*\\\n)*.*$/m.exec(text)?.[0].replace(/^ {4}/gm, '')
  return yamls.length === 0 ? [] : [{ title, yamls, curl }]
})

/** A value for each variable that the recipes read. */
const env = Object.fromEntries(
  [...page.matchAll(/"\$\{(\w+)\}"/g)].map(([, name = '']) => [name, `credential-of-${name.toLowerCase()}`]),
)

interface Expected {
  path: string
  headers: Record<string, string>
  /** The model in the body. */
  model: string
}
const bearer = (name: string) => ({ authorization: `Bearer credential-of-${name}` })

/** As the documentation of the provider says. */
const EXPECTED: Record<string, Expected> = {
  OpenAI: { path: '/v1/responses', headers: bearer('openai_api_key'), model: 'gpt-5-mini' },
  Anthropic: {
    path: '/v1/messages',
    headers: { 'x-api-key': 'credential-of-anthropic_api_key', 'anthropic-version': '2023-06-01' },
    model: 'claude-sonnet-4-6',
  },
  'Azure OpenAI': {
    path: '/openai/v1/responses',
    headers: { 'api-key': 'credential-of-azure_openai_api_key' },
    model: 'my-deployment',
  },
  OpenRouter: {
    path: '/api/v1/chat/completions',
    headers: { ...bearer('openrouter_api_key'), 'http-referer': 'https://example.com', 'x-title': 'Example' },
    model: 'openai/gpt-4o-mini',
  },
  Groq: {
    path: '/openai/v1/chat/completions',
    headers: bearer('groq_api_key'),
    model: 'openai/gpt-oss-20b',
  },
  Mistral: {
    path: '/v1/chat/completions',
    headers: bearer('mistral_api_key'),
    model: 'mistral-small-latest',
  },
  vLLM: { path: '/v1/chat/completions', headers: bearer('vllm_api_key'), model: 'Qwen/Qwen3-8B' },
  Ollama: { path: '/v1/chat/completions', headers: {}, model: 'llama3.2' },
  'llama.cpp': { path: '/v1/chat/completions', headers: bearer('llama_api_key'), model: 'local' },
  'Another OpenAI-compatible server': {
    path: '/v1/chat/completions',
    headers: bearer('litellm_api_key'),
    model: 'gpt-4o-mini',
  },
}

const folder = mkdtempSync(join(tmpdir(), 'providers-'))
let upstream: ScriptedUpstream
let gateway: RunningGateway

beforeAll(async () => {
  upstream = await startUpstream()
  const { origin } = new URL(upstream.baseURL)
  const files = recipes.flatMap(({ yamls }) => yamls)
  gateway = await startGateway(
    Object.fromEntries(
      // Secrets that two recipes share are read once.
      [...new Set(files.flatMap((yaml) => yaml.split(/^---\n/m)))].map((document, index) => [
        `${index}.yaml`,
        document.replace(/baseURL: https?:\/\/[^/\n]+/g, `baseURL: ${origin}`),
      ]),
    ),
    env,
  )
})

afterAll(async () => {
  await gateway?.stop()
  await upstream?.close()
  rmSync(folder, { recursive: true })
})

async function problemsOf(yaml: string): Promise<string[]> {
  const file = join(folder, 'recipe.yaml')
  writeFileSync(file, yaml)
  const out: string[] = []
  const terminal = { env, width: undefined, print: (text: string) => out.push(text), warn: () => undefined }
  const code = await validate({ file: [file], namespace: 'default', output: 'table', strict: true }, terminal)
  return code === 0 ? out : [...out, `exit code ${code}`]
}

it('every section with resources has an expectation, except the one of the client’s key', () => {
  expect(recipes.map(({ title }) => title)).toEqual(['How to use a recipe', ...Object.keys(EXPECTED)])
})

it.each(recipes.flatMap(({ title, yamls }) => yamls.map((yaml) => [title, yaml] as const)))(
  '%s is valid under --strict',
  async (_, yaml) => {
    expect(await problemsOf(yaml)).toEqual([])
  },
)

it('a field that a Channel does not have is found', async () => {
  const openai = recipes.find(({ title }) => title === 'OpenAI')?.yamls[0] ?? ''
  const [problem] = await problemsOf(openai.replace('profile:', 'profil:'))
  expect(problem).toContain('unknown field spec.profil; did you mean profile?')
})

it('all recipes together are in force', async () => {
  expect(JSON.parse((await call(`${gateway.admin}/problems`)).text)).toEqual([])
})

describe.each(recipes.filter(({ title }) => title in EXPECTED))('$title', ({ title, curl = '' }) => {
  it('its command reaches the upstream as the provider expects', async () => {
    const { path, headers, model } = EXPECTED[title] as Expected
    expect(curl).toContain(ADDRESS)
    expect(curl).toContain(KEY)
    upstream.answer(answerFor(path))
    upstream.calls.length = 0
    const answer = JSON.parse(await run('bash', ['-c', `${curl.replace(ADDRESS, gateway.base)} --silent`]))
    expect(answer).toMatchObject({ id: expect.any(String) })
    const [sent] = upstream.calls
    expect(upstream.calls).toHaveLength(1)
    expect(sent?.path).toBe(path)
    expect(sent?.headers).toMatchObject(headers)
    if (!('authorization' in headers)) expect(sent?.headers.authorization).toBeUndefined()
    expect(JSON.parse(sent?.body.toString() ?? '').model).toBe(model)
  })
})

it.each([
  ['chat_completion', 'https://generativelanguage.googleapis.com/v1beta/openai', '/v1beta/openai'],
  ['chat_completion', 'https://bedrock-runtime.<region>.amazonaws.com/openai/v1', '/openai/v1'],
  ['messages', 'https://openrouter.ai/api', '/api/v1'],
] as const)('a Channel of the type %s appends its paths to %s', (type, url, base) => {
  expect(page).toContain(`\`${url}\``)
  const { pathname } = new URL(url.replace('<region>', 'eu-central-1'))
  expect(endpointBase(type, pathname)).toBe(base)
})

it('the older API of Azure gets its path and version', async () => {
  upstream.answer(chatAnswer())
  upstream.calls.length = 0
  const request = { headers: jsonHeaders(KEY), body: chatBody('azure/gpt-4o') }
  expect((await call(`${gateway.base}/v1/chat/completions`, request)).status).toBe(200)
  const [sent] = upstream.calls
  expect(sent?.path).toBe('/openai/deployments/my-deployment/chat/completions?api-version=2024-10-21')
  expect(sent?.headers).toMatchObject({ 'api-key': 'credential-of-azure_openai_api_key' })
})

it('Mistral gets no stream_options, and its usage is counted nevertheless', async () => {
  // Mistral puts the usage into the chunk that has the finish_reason.
  const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 }
  upstream.answer((_, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    const events = chatEvents('mistral-small-latest', 'Hello there', null)
    const last = events.at(-1) ?? ''
    expect(last).toContain('"finish_reason":"stop"')
    const withUsage = JSON.stringify({ ...JSON.parse(last.slice('data: '.length)), usage })
    res.end([...events.slice(0, -1), `data: ${withUsage}\n\n`, 'data: [DONE]\n\n'].join(''))
  })
  upstream.calls.length = 0
  const body = JSON.stringify({ ...JSON.parse(chatBody('mistral-small')), stream: true })
  const answer = await call(`${gateway.base}/v1/chat/completions`, { headers: jsonHeaders(KEY), body })
  expect(answer.text.endsWith('data: [DONE]\n\n')).toBe(true)
  expect(JSON.parse(upstream.calls[0]?.body.toString() ?? '')).not.toHaveProperty('stream_options')
  await expect.poll(() => gateway.requests().at(-1)).toMatchObject({ model: 'mistral-small' })
  expect(JSON.stringify(gateway.requests().at(-1))).toMatch(/"output(Tokens)?":3/)
})

/** An answer of the API at that path. */
function answerFor(path: string): Parameters<ScriptedUpstream['answer']>[0] {
  if (path.endsWith('/chat/completions')) return chatAnswer()
  const isMessages = path.endsWith('/messages')
  const usage = { input_tokens: 7, output_tokens: 3 }
  const text = 'Hello there'
  const body = isMessages
    ? {
        ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [{ type: 'text', text }] },
        ...{ stop_reason: 'end_turn', stop_sequence: null, usage },
      }
    : {
        ...{ id: 'resp_1', object: 'response', created_at: 1, status: 'completed', model: 'm', usage },
        output: [
          {
            ...{ id: 'msg_1', type: 'message', role: 'assistant', status: 'completed' },
            content: [{ type: 'output_text', text, annotations: [] }],
          },
        ],
      }
  return (_, res) => {
    res.writeHead(200, { 'content-type': 'application/json' })
    res.end(JSON.stringify(body))
  }
}
