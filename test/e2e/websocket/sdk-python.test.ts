/** The official Python SDK over a WebSocket, over upstreams of every dialect. ../python has the script. */
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { python, run } from '../../harness/script.ts'
import { DIALECTS } from '../dialects/scripted-answer.ts'
import { KEY, type SocketWorld, startSocketWorld } from './world.ts'

let world: SocketWorld
beforeAll(async () => {
  world = await startSocketWorld()
})
afterAll(() => world?.close())

/** Importing the SDK takes seconds on a busy machine. */
const PATIENCE_MS = 60_000

it(
  'openai_socket.py',
  async () => {
    const env = {
      GATEWAY_BASE: world.proxy.base,
      GATEWAY_KEY: KEY,
      GATEWAY_POOR_KEY: '',
      GATEWAY_LIMITED_KEY: '',
      PYTHONDONTWRITEBYTECODE: '1',
    }
    const printed = run(python(), [join(import.meta.dirname, '../python/openai_socket.py')], env)
    const error = (status: number, code: string) => ['ResponseWsError', 'error', status, code]
    const seen = {
      turns: [['one'], ['one', 'two']],
      call: ['function_call', 'weather', '{"city":"Ulm"}'],
      after: true,
      missing: error(400, 'previous_response_not_found'),
      broken: error(502, 'upstream_error'),
      'still there': ['again'],
      streams: [
        ['quick', ['quick: free']],
        ['slow', ['slow: wait']],
      ],
      reconnect: {
        here: ['here'],
        times: 1,
        stored: ['one', 'again'],
        lost: error(400, 'previous_response_not_found'),
      },
      async: ['["one"]', ['one']],
    }
    expect(JSON.parse(await printed)).toEqual({
      ...Object.fromEntries(DIALECTS.map((model) => [model, seen])),
      refused: ['InvalidStatus', true],
    })
  },
  PATIENCE_MS,
)
