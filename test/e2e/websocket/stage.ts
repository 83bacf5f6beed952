/**
 * The gateway before an upstream whose model does what the last words of its user say:
 *
 *   wait    answers when the test lets it
 *   fail    answers with a status of 500
 *   free    is answered, and then lets the one that waits go on, as soon as there is one
 *   cut     breaks the connections of the wire off, and never answers
 *
 * Anything else it answers with all texts of the user that it was told, as a JSON list; given tools it first calls
 * `weather`.
 */
import { until } from '../../harness/gateway.ts'
import { json, type Script } from '../../harness/upstream.ts'
import { reads } from '../conversations/reader.ts'
import { KEY, openRoom, type Room } from '../dialects/room.ts'
import { tells } from '../dialects/tell.ts'
import { openWire, type Wire } from './wire.ts'

export { KEY }

export interface Stage {
  room: Room
  wire: Wire
  /** Lets those that wait be answered; gives how many there were. */
  release(): number
  close(): Promise<void>
}

const CALL = { id: 'call_w', name: 'weather', input: '{"city":"Ulm"}' }

export async function openStage(): Promise<Stage> {
  const room = await openRoom()
  const wire = await openWire(room.gateway.base)
  const kept = new Map()
  const waiting: (() => void)[] = []
  const reader = reads(kept)
  const script: Script = async (call, res) => {
    const text = call.body.toString()
    const { tools = [] } = JSON.parse(text) as { tools?: unknown[] }
    if (tools.length > 0 && !text.includes('sunny')) return tells({ calls: [CALL] })(call, res)
    const word = /\b(wait|free|fail|cut)"/.exec(text)?.[1]
    if (word === 'free') res.once('close', () => void until(() => stage.release() > 0, 'one that waits'))
    if (word === 'fail') return json(res, 500, { error: { message: 'Hidden words', type: 'server_error' } })
    if (word === 'cut') return wire.cut()
    if (word === 'wait') await new Promise<void>((resolve) => waiting.push(resolve))
    return reader(call, res)
  }
  room.upstream.answer(script)
  const stage: Stage = {
    room,
    wire,
    release() {
      const released = waiting.splice(0)
      for (const go of released) go()
      return released.length
    },
    async close() {
      await wire.close()
      await room.close()
    },
  }
  return stage
}
