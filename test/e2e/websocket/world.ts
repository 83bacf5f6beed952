/**
 * The gateway in front of an upstream whose model obeys the last word of the user's text:
 *
 *   wait    answers once the test releases it
 *   fail    answers with status 500
 *   free    answers, then releases a waiting answer as soon as there is one
 *   cut     breaks the proxied connections and never answers
 *
 * To anything else it answers with all user texts that it received, as a JSON list; given tools, it first calls
 * `weather`.
 */
import { type RunningGateway, until } from '../../harness/gateway.ts'
import { json, type Script, type ScriptedUpstream } from '../../harness/upstream.ts'
import { echo } from '../conversations/echo-upstream.ts'
import { scripted } from '../dialects/scripted-upstream.ts'
import { KEY, startWorld } from '../dialects/world.ts'
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts'

export { KEY }

export interface SocketWorld {
  upstream: ScriptedUpstream
  gateway: RunningGateway
  /** In front of the gateway. */
  proxy: TcpProxy
  /** Releases the waiting answers and returns how many there were. */
  release(): number
  close(): Promise<void>
}

const CALL = { id: 'call_w', name: 'weather', input: '{"city":"Ulm"}' }

export async function startSocketWorld(): Promise<SocketWorld> {
  const { upstream, gateway, close } = await startWorld()
  const proxy = await startTcpProxy(gateway.base)
  const waiting: (() => void)[] = []
  const release = () => {
    const released = waiting.splice(0)
    for (const resolve of released) resolve()
    return released.length
  }
  const echoed = echo(new Map())
  const script: Script = async (call, res) => {
    const text = call.body.toString()
    const { tools = [] } = JSON.parse(text) as { tools?: unknown[] }
    if (tools.length > 0 && !text.includes('sunny')) return scripted({ calls: [CALL] })(call, res)
    const word = /\b(wait|free|fail|cut)"/.exec(text)?.[1]
    if (word === 'free') res.once('close', () => void until(() => release() > 0, 'a waiting answer'))
    if (word === 'fail') return json(res, 500, { error: { message: 'Hidden words', type: 'server_error' } })
    if (word === 'cut') return proxy.cut()
    if (word === 'wait') await new Promise<void>((resolve) => waiting.push(resolve))
    return echoed(call, res)
  }
  upstream.answer(script)
  return {
    upstream,
    gateway,
    proxy,
    release,
    async close() {
      await proxy.close()
      await close()
    },
  }
}
