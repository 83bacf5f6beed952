/** An upstream that begins a streamed answer of the model `held`, and ends it when the test says so. */
import { once } from 'node:events'
import { chatAnswer, chatEvents, type ScriptedUpstream, startUpstream } from '../harness/upstream.ts'

export const WORDS = 'one two three'

export interface HoldingUpstream extends ScriptedUpstream {
  /** Answers that have begun. */
  held(): number
  /** Ends them. */
  release(): void
}

export async function startHoldingUpstream(): Promise<HoldingUpstream> {
  const held = new Set<() => void>()
  const plain = chatAnswer()
  const upstream = await startUpstream(async (call, res) => {
    if (!call.body.includes('"held"')) return plain(call, res)
    const [first = '', second = '', ...rest] = chatEvents('held', WORDS, {
      prompt_tokens: 10,
      completion_tokens: 5,
      total_tokens: 15,
    })
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    res.write(first + second)
    const closed = once(res, 'close')
    const gate = Promise.withResolvers<void>()
    held.add(gate.resolve)
    await Promise.race([gate.promise, closed])
    held.delete(gate.resolve)
    res.end(`${rest.join('')}data: [DONE]\n\n`)
  })
  return {
    ...upstream,
    held: () => held.size,
    release: () => {
      for (const resolve of held) resolve()
    },
  }
}
