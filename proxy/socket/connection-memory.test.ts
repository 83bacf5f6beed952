import { describe, expect, test } from 'vitest'
import { GatewayError } from '../errors.ts'
import type { Call } from '../pipeline/call.ts'
import { answer, completed, connect, create, socketServer, until } from './testing.ts'

describe('memory', () => {
  /** Answers each call with a new id and remembers it; a request with `fail` is refused. */
  function remembering() {
    const found: unknown[] = []
    return {
      found,
      serve: (call: Call, body: Record<string, unknown>) => {
        const previous = body.previous_response_id as string | undefined
        if (previous !== undefined) found.push(call.memory?.history(previous))
        if (body.fail === 'status') throw new GatewayError('upstream_error', 'No.')
        if (body.fail === 'event')
          return answer(call, { type: 'error', code: 'upstream_error', message: 'No.' })
        call.memory?.remember(String(body.id), previous, [String(body.id)])
        answer(call, completed(String(body.id)))
      },
    }
  }

  test('a connection knows its own answers, and no other does', async () => {
    const { found, serve } = remembering()
    const { url, pool } = await socketServer(serve)
    const [one, two] = [await connect(url), await connect(url)]
    one.send(create({ id: 'r1' }))
    one.send(create({ id: 'r2', previous_response_id: 'r1' }))
    await one.received(2)
    one.send(create({ id: 'r3', previous_response_id: 'r2', stream_id: 'a' }))
    await one.received(3)
    two.send(create({ id: 'r4', previous_response_id: 'r1' }))
    await two.received(1)
    // A response may be continued more than once.
    one.send(create({ id: 'r5', previous_response_id: 'r1' }))
    await one.received(4)
    expect(found).toEqual([['r1'], ['r1', 'r2'], undefined, ['r1']])
    expect(pool.used).toBe(4 * (2 + 64))
    for (const { ws } of [one, two]) ws.close()
    await until(() => pool.used === 0)
  })

  test.each(['status', 'event'])(
    'after a failure by %s the stream has forgotten the response that the call continued',
    async (fail) => {
      const { found, serve } = remembering()
      const { url } = await socketServer(serve)
      const client = await connect(url)
      client.send(create({ id: 'r1', stream_id: 'a' }))
      await client.received(1)
      // On another stream the call is a fork, whose failure does not affect the origin.
      client.send(create({ fail, previous_response_id: 'r1', stream_id: 'b' }))
      await client.received(2)
      client.send(create({ fail, previous_response_id: 'r1', stream_id: 'a' }))
      await client.received(3)
      client.send(create({ id: 'r2', previous_response_id: 'r1', stream_id: 'a' }))
      await client.received(4)
      expect(found).toEqual([['r1'], ['r1'], undefined])
    },
  )
})
