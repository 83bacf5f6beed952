import { describe, expect, it } from 'vitest'
import { featuresOf } from '../../../contract/profiles.ts'
import { ephemeralKeyRing } from '../../../store/sealing.ts'
import { createEnvelopes } from '../core/hub/envelope.ts'
import { inOnePiece } from '../core/json/splice.ts'
import { lanesOf } from '../core/lanes/index.ts'
import type { DialectName } from '../core/neutral/types.ts'
import type { ParsedRequest } from '../core/request.ts'
import { DIALECTS } from '../index.ts'

const STATE = { google: { thought_signature: 'SIG-OF-CALL' } }
const ENVELOPES = createEnvelopes(ephemeralKeyRing(), 'owner', DIALECTS)

const answer = {
  id: 'c1',
  object: 'chat.completion',
  created: 1,
  model: 'up',
  choices: [
    {
      index: 0,
      finish_reason: 'tool_calls',
      message: {
        role: 'assistant',
        content: null,
        tool_calls: ['a', 'b'].map((id) => ({
          id: `call_${id}`,
          type: 'function',
          function: { name: 'look', arguments: '{}' },
          ...(id === 'a' && { extra_content: STATE }),
        })),
      },
    },
  ],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
}

function laneOf(client: DialectName, body: object) {
  const parsed: ParsedRequest = DIALECTS[client].parseRequest(
    Buffer.from(JSON.stringify(body)),
    { maxDepth: 50, maxKeys: 1_000 },
    {},
  )
  const lanes = lanesOf(
    {
      client: DIALECTS[client],
      parsed,
      id: 'x',
      created: 1,
      inputTokens: 1,
      envelopes: ENVELOPES,
      rewriteModel: false,
      unsupported: 'Reject',
      defaultMaxOutputTokens: 10,
    },
    DIALECTS,
  )
  const features = featuresOf('chat_completion', undefined)
  return lanes.open({
    channel: 'd/c',
    lane: 'hub',
    api: 'chat',
    model: 'up',
    features,
    withoutCarriers: false,
  })
}

function ask(client: DialectName, body: object): Record<string, unknown> {
  const read = laneOf(client, body).readAnswer(Buffer.from(JSON.stringify(answer)), false)
  if (!('body' in read)) throw new Error(read.detail)
  return JSON.parse(read.body.toString()) as Record<string, unknown>
}

describe('state that a chat upstream attaches to a tool call is returned to it', () => {
  const calls = (body: Buffer) => JSON.parse(body.toString()).messages[1].tool_calls

  it('through a messages client', () => {
    const tools = [{ name: 'look', input_schema: { type: 'object' } }]
    const first = { model: 'm', max_tokens: 9, tools, messages: [{ role: 'user', content: 'Hi' }] }
    const { content } = ask('messages', first)
    expect(JSON.stringify(content)).not.toContain('SIG-OF-CALL')
    const results = ['a', 'b'].map((id) => ({
      type: 'tool_result',
      tool_use_id: `call_${id}`,
      content: 'ok',
    }))
    const messages = [...first.messages, { role: 'assistant', content }, { role: 'user', content: results }]
    const [a, b] = calls(inOnePiece(laneOf('messages', { ...first, messages }).body))
    expect(a).toMatchObject({ id: 'call_a', extra_content: STATE })
    expect(b).not.toHaveProperty('extra_content')
  })

  it('through a responses client', () => {
    const tools = [{ type: 'function', name: 'look', parameters: null, strict: false }]
    const { output } = ask('responses', { model: 'm', tools, input: 'Hi' })
    const results = ['a', 'b'].map((id) => ({
      type: 'function_call_output',
      call_id: `call_${id}`,
      output: 'ok',
    }))
    const input = [{ role: 'user', content: 'Hi' }, ...(output as object[]), ...results]
    const [a, b] = calls(inOnePiece(laneOf('responses', { model: 'm', tools, input }).body))
    expect(a).toMatchObject({ id: 'call_a', extra_content: STATE })
    expect(b).not.toHaveProperty('extra_content')
  })
})
