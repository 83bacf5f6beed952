/** A large body that waits for its upstream is in memory only once. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { listen } from '../../../proxy/outbound/testing.ts'
import { until } from '../../harness/gateway.ts'
import { envelope, openRelay, relayOfTest } from './setup.ts'

const SIZE = 40_000_000

test('holds a large body in memory only once during its call', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-held-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const gateway = await relayOfTest({ NODE_OPTIONS: `--heapsnapshot-signal=SIGUSR2 --diagnostic-dir=${dir}` })
  const upstream = await listen(
    createServer((socket) => void socket.on('error', () => undefined)),
    'http',
  )
  const leaving = new AbortController()
  onTestFinished(() => leaving.abort())
  const body = envelope(upstream.origin, `{"model":"m","text":"${'x'.repeat(SIZE)}"}`)
  openRelay(gateway, body, { signal: leaving.signal }).catch(() => undefined)
  await until(() => upstream.sockets.size === 1, 'the call')
  gateway.child.kill('SIGUSR2')
  const bytes = await until(() => buffersIn(dir), 'the snapshot')
  expect(bytes).toBeGreaterThan(SIZE)
  expect(bytes).toBeLessThan(1.5 * SIZE)
})

/** Total size of the buffers in the heap snapshot. */
function buffersIn(dir: string): number | undefined {
  const [name] = readdirSync(dir).filter((file) => file.endsWith('.heapsnapshot'))
  if (name === undefined) return undefined
  let found: { nodes: number[]; strings: string[]; snapshot: { meta: { node_fields: string[] } } }
  try {
    found = JSON.parse(readFileSync(join(dir, name), 'utf8'))
  } catch {
    return undefined
  }
  const { nodes, strings, snapshot } = found
  const fields = snapshot.meta.node_fields
  const [nameAt, sizeAt] = [fields.indexOf('name'), fields.indexOf('self_size')]
  let sum = 0
  for (let at = 0; at < nodes.length; at += fields.length)
    if (/ArrayBuffer/.test(strings[nodes[at + nameAt] ?? 0] ?? '')) sum += nodes[at + sizeAt] ?? 0
  return sum
}
