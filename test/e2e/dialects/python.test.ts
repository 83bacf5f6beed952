/** The official Python SDKs over upstreams of every dialect. The scripts in ../python print the results. */
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { route } from '../../harness/resources.ts'
import { python, run } from '../../harness/script.ts'
import { json, type Script } from '../../harness/upstream.ts'
import { DIALECTS } from './scripted-answer.ts'
import { answerEvents, dialectOf, scripted, stream } from './scripted-upstream.ts'
import { KEY, startWorld, type World } from './world.ts'

let world: World
beforeAll(async () => {
  const more = DIALECTS.flatMap((name) =>
    ['object', 'cut', 'long'].map((kind) =>
      route(`${name}-${kind}`, `${name}-${kind}`, [name], { retry: { attempts: 1 } }),
    ),
  )
  world = await startWorld(more.join(''))
  world.upstream.answer(script)
})
afterAll(() => world?.close())

const CALL = { id: 'call_w', name: 'weather', input: '{"city":"Ulm"}' }

/** Behaves as the model's name says. Anthropic's runner first requests `thread`, which this upstream lacks. */
const script: Script = (call, res) => {
  const { model, thread } = JSON.parse(call.body.toString()) as { model: string; thread?: object }
  if (thread !== undefined) {
    const details = { error_code: 'thread_unsupported_request' }
    return json(res, 400, { type: 'error', error: { type: 'invalid_request_error', message: 'No', details } })
  }
  if (model.endsWith('-long')) {
    const message = "This model's maximum context length is 8192 tokens. However, you requested 9001 tokens."
    const error = { message, type: 'invalid_request_error', param: null, code: 'context_length_exceeded' }
    const anthropic = {
      type: 'invalid_request_error',
      message: 'prompt is too long: 9001 tokens > 8192 maximum',
    }
    const ownError = dialectOf(call) === 'messages' ? { type: 'error', error: anthropic } : { error }
    return json(res, 400, ownError)
  }
  if (model.endsWith('-cut')) {
    const events = answerEvents(dialectOf(call), { text: 'one two three' })
    const upToTwo = events.findIndex((event) => event.includes('three'))
    return stream(res, events.slice(0, upToTwo))
  }
  if (model.endsWith('-object')) return scripted({ text: '{"city":"Ulm","degrees":21.5}' })(call, res)
  return scripted((body) =>
    JSON.stringify(body).includes('sunny') ? { text: 'It is sunny.' } : { text: 'Wait.', calls: [CALL] },
  )(call, res)
}

async function report(name: string): Promise<Record<string, unknown>> {
  const env = {
    GATEWAY_BASE: world.gateway.base,
    GATEWAY_KEY: KEY,
    GATEWAY_POOR_KEY: '',
    GATEWAY_LIMITED_KEY: '',
    PYTHONDONTWRITEBYTECODE: '1',
  }
  return JSON.parse(await run(python(), [join(import.meta.dirname, '../python', name)], env))
}

/** Importing both SDKs takes seconds on a busy machine. */
const PATIENCE_MS = 60_000
const PARSED = { city: 'Ulm', degrees: 21.5 }

it(
  'openai: chat and responses',
  async () => {
    const tooLong = expect.objectContaining({
      class: 'BadRequestError',
      status: 400,
      code: 'context_length_exceeded',
    })
    const same = { call: ['call_w', 'weather', '{"city":"Ulm"}'], usage: [100, 40, 30], parsed: PARSED }
    const whole = {
      chat: { ...same, final: ['It is sunny.', 'stop'] },
      responses: { ...same, final: ['It is sunny.', 'completed'] },
      cut: [
        ['one two ', 'failed'],
        ['one two ', 'failed'],
      ],
      errors: [tooLong, tooLong],
    }
    expect(await report('dialect_openai.py')).toEqual({ chat: whole, responses: whole, messages: whole })
  },
  PATIENCE_MS,
)

it(
  'anthropic: messages',
  async () => {
    const whole = {
      runner: ['It is sunny.', 'end_turn'],
      stream: { calls: [['call_w', 'weather', { city: 'Ulm' }]], end: 'tool_use', usage: [50, 40, 10, 30] },
      async: 'tool_use',
      parsed: PARSED,
      cut: ['one two ', 'failed'],
      error: [
        expect.objectContaining({ class: 'BadRequestError', status: 400, type: 'invalid_request_error' }),
        'prompt is too long: 9001 tokens > 8192 maximum',
      ],
    }
    expect(await report('dialect_anthropic.py')).toEqual({ chat: whole, responses: whole, messages: whole })
  },
  PATIENCE_MS,
)
