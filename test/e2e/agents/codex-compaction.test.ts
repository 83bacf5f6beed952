/**
 * Codex when a conversation grows too long. With its built-in provider it requests a compaction from the API, which the
 * upstream makes or the gateway emulates; with another provider it asks the model for a summary.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { stream } from '../dialects/scripted-upstream.ts'
import { agentMessages, codex, setUpAsHosted, setUpCodex } from './codex.ts'
import { textsOf, tools } from './read-request.ts'
import {
  createWorkspace,
  type Json,
  outputTail,
  startWorld,
  type UpstreamRequest,
  type Workspace,
  type World,
} from './world.ts'

const SUITE_MS = 90_000
/** In tokens, so low that every answer exceeds it. */
const LIMIT = ['model_auto_compact_token_limit = 5']

let world: World
let workspace: Workspace
beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world?.close())
beforeEach(() => {
  workspace = createWorkspace()
})
afterEach(() => workspace?.clear())

const texts = (request: UpstreamRequest | undefined) =>
  request === undefined ? [] : textsOf(request).map(({ text }) => text)

describe('compaction by Codex', { timeout: SUITE_MS }, () => {
  it.each([
    ['chat', 'chat'],
    ['plain', 'responses'],
    ['messages', 'messages'],
  ])('the gateway emulates it over %s', async (upstream, dialect) => {
    setUpAsHosted(workspace, world, LIMIT)
    world.answerWith({ text: 'One.' }, { text: 'We spoke of one.' }, { text: 'Two.' })
    await codex(workspace, `gpt-5.5-${upstream}`, 'First?')
    const run = await codex(workspace, `gpt-5.5-${upstream}`, 'Second?', true)
    expect(agentMessages(run), outputTail(run)).toEqual(['Two.'])
    const [, summary, last] = world.requests()
    expect(world.requests().map((request) => request.dialect)).toEqual([dialect, dialect, dialect])
    expect(texts(summary)).toEqual(expect.arrayContaining(['First?', 'One.']))
    expect(texts(summary).at(-1)).toContain('Write the summary as plain text')
    // Only the summary and the user's messages remain.
    expect(texts(last)).not.toContain('One.')
    expect(texts(last).filter((text) => text.endsWith('We spoke of one.'))).toHaveLength(1)
    expect(texts(last).at(-1)).toBe('Second?')
  })

  it('the upstream makes it', async () => {
    setUpAsHosted(workspace, world, LIMIT)
    const input = ({ body }: { body: Buffer }) => (JSON.parse(body.toString()) as { input: Json[] }).input
    world.answerWith({ text: 'One.' })
    await codex(workspace, 'gpt-5.5-responses', 'First?')
    const compaction = { type: 'compaction', id: 'cmp_up', encrypted_content: 'c2VhbGVk' }
    const before = world.upstream.calls.length
    world.upstream.answer((call, res) => {
      const item = input(call).at(-1)?.type === 'compaction_trigger' ? compaction : message('Two.')
      stream(res, events(item))
    })
    const run = await codex(workspace, 'gpt-5.5-responses', 'Second?', true)
    expect(agentMessages(run), outputTail(run)).toEqual(['Two.'])
    const [compacting, last] = world.upstream.calls.slice(before).map(input)
    expect(compacting?.at(-1)).toEqual({ type: 'compaction_trigger' })
    expect(last?.find(({ type }) => type === 'compaction')).toMatchObject({ encrypted_content: 'c2VhbGVk' })
    expect(JSON.stringify(last)).not.toContain('One.')
  })

  it('with another provider the model writes a summary', async () => {
    setUpCodex(workspace, world, LIMIT)
    world.answerWith({ text: 'One.' }, { text: 'We spoke of one.' }, { text: 'Two.' })
    await codex(workspace, 'gpt-5.5-chat', 'First?')
    const run = await codex(workspace, 'gpt-5.5-chat', 'Second?', true)
    expect(agentMessages(run), outputTail(run)).toEqual(['Two.'])
    const [, summary, last] = world.requests()
    expect(summary && tools(summary)).toEqual([])
    expect(texts(last).filter((text) => text.endsWith('We spoke of one.'))).toHaveLength(1)
  })
})

const message = (text: string) => ({
  type: 'message',
  id: 'msg_up',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
})

/** The events of an answer with one item, as far as Codex reads them. */
function events(item: object): string[] {
  const event = (type: string, sequence_number: number, more: object) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number, ...more })}\n\n`
  const id = 'resp_compacted'
  const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 }
  return [
    event('response.created', 0, { response: { id, status: 'in_progress', output: [] } }),
    event('response.output_item.done', 1, { output_index: 0, item }),
    event('response.completed', 2, { response: { id, status: 'completed', output: [item], usage } }),
  ]
}
