/** Records every command that a Redis executes, including those of scripts, with MONITOR. */
import { connect } from 'node:net'
import { createInterface } from 'node:readline'

export interface RedisMonitor {
  /** Commands so far in lower case, each with its first argument: "set sluice:{cfg}:key:…". */
  commands(): string[]
  stop(): void
}

/** Resolves when recording has begun. */
export async function monitorRedis(port: number): Promise<RedisMonitor> {
  const socket = connect({ port, host: '127.0.0.1' })
  const seen: string[] = []
  socket.write('MONITOR\r\n')
  const lines = createInterface({ input: socket })
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject)
    lines.once('line', () => resolve())
  })
  lines.on('line', (line) => {
    // +1700000000.123456 [0 127.0.0.1:50000] "set" "name" "value"; a script's address is "lua".
    const [, name, first] = /\] "([^"]*)"(?: "([^"]*)")?/.exec(line) ?? []
    if (name !== undefined) seen.push(`${name.toLowerCase()} ${first ?? ''}`.trimEnd())
  })
  return { commands: () => [...seen], stop: () => socket.destroy() }
}
