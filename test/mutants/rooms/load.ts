/** Faults of the load limits: requests in flight, memory of bodies, refusals to clients that still send. */
import { faults, type Mutant } from '../fault.ts'

export const LOAD: Mutant[] = [
  ...faults(
    'proxy/server/overload.ts',
    'proxy/server/overload.test.ts',
    // A delay is remembered for ever.
    ['    delays.reset()\n', ''],
    // A process that never returns memory stops serving.
    [' && this.inFlight >= ALWAYS_SERVED', ''],
    // A client that reached its limit is refused forever.
    ['      leave()\n', ''],
    // The setting of the delay has no effect.
    ['delayMs > this.#limits.maxLoopDelayMs', 'delayMs > 500'],
  ),
  ...faults(
    'proxy/server/client-load.ts',
    'proxy/server/client-load.test.ts',
    // Each address of a /64 has its own limit.
    ["address === undefined ? '' : networkOf(address)", "address ?? ''"],
    ['if (this.#inFlight.of(client) >= this.#max)', 'if (this.#inFlight.of(client) > this.#max)'],
  ),
  ...faults(
    'kit/loop-delay.ts',
    'kit/loop-delay.test.ts',
    // A late look is expected to be late.
    ['due = now + LOOK_MS\n  for', 'for'],
    // The first of two that stops ends the watch of the other.
    ['    if (histograms.size > 0) return\n', ''],
    // A watch after the last one counts nothing.
    ['      timer = undefined\n', ''],
  ),
  ...faults(
    'admin/process-metrics.ts',
    'admin/process-metrics.test.ts',
    // Each scrape shows all delays since the start.
    ['    delays.reset()\n', ''],
    // An idle process wakes 100 times a second.
    [', eventLoopMonitoringPrecision: MAX_TIMER_MS', ''],
  ),
  ...faults(
    'kit/thread-pool.ts',
    'kit/thread-pool.test.ts',
    // Idle threads keep their memory.
    ['this.#idle = setTimeout(() => this.end(), this.#idleMs).unref()', ''],
    // There are as many threads as tasks.
    ['else if (this.#threads.size < this.#options.size) this', 'else this'],
    // Work is done for a client that left.
    ['if (!task.signal.aborted) {', 'if (task.signal !== undefined) {'],
    // After a thread that ended, all later tasks wait forever.
    ['        this.#threads.delete(thread)\n', ''],
  ),
  ...faults(
    'proxy/dialects/core/lanes/apart.ts',
    'proxy/pipeline/body/threads.test.ts',
    // Clients get calls of tools that they do not know.
    ['...(names && { names })', ''],
    // Answers do not repeat the request.
    ['...(echo && { echo }),\n  }', '}'],
  ),
  ...faults(
    'proxy/dialects/core/lanes/hub.ts',
    'proxy/pipeline/body/threads.test.ts',
    // The usage that a client requested is missing, or an old client gets new calls.
    ['wantsStreamUsage, compact })', 'compact })'],
    ['...present({ names }) }))', '}))'],
  ),
  ...faults(
    'proxy/pipeline/body/turns.ts',
    'proxy/pipeline/body/turns.test.ts',
    // One client's bodies are parsed in a row, and other clients wait.
    ['if (client.parsing < this.#most) {', 'if (client.parsing < 1_000) {'],
    ['took * (2 * this.#most - 1)', '0'],
    // A slot goes to a client that left while waiting, and is lost.
    ['client.waiting = client.waiting.filter((each) => each !== go)', ''],
    // An inactive client is remembered forever.
    ['else if (--client.parsing === 0) this.#clients.delete(name)', 'else client.parsing--'],
  ),
  // Requests in flight are forgotten when others end.
  ...faults('kit/roster.ts', 'kit/roster.test.ts', ['last.place = seat.place', '']),
  ...faults(
    'kit/together.ts',
    'kit/together.test.ts',
    // Work that comes while other work runs never runs.
    [' : []\n', ' : works\n'],
    // The rest of a burst never runs, or all of it in one turn.
    ['    if (this.#count > 0) atEndOfTurn(this.#endTurn)\n', ''],
    ['works.splice(MOST_A_TURN)', 'works.splice(100_000)'],
  ),
  ...faults(
    'kit/turn.ts',
    'kit/turn.test.ts',
    // Clients that connect without end stop all requests.
    ['accepted && waited < most', 'accepted'],
    // After a burst of connections, no later work waits for others.
    ['  waited = 0\n  const', '  const'],
    // Of many clients that connect at once, four are heard a turn.
    ['Math.max(LEAST_TURNS, done)', 'LEAST_TURNS'],
    // Work waits although no more connections come.
    ['  accepted = false\n  if', '  if'],
  ),
  // The last of many clients that connect at once wait for seconds.
  ...faults('proxy/server/http-server.ts', 'proxy/server/http-server.test.ts', [
    "  server.on('connection', connectionAccepted)\n",
    '',
  ]),
  // A small request is refused, and the slow large one stays.
  ...faults('kit/byte-pool.ts', 'proxy/pipeline/body/memory.test.ts', [
    'if (holder.bytes > (largest?.bytes ?? 0)) largest = holder',
    'if (holder.bytes < 0) largest = holder',
  ]),
  ...faults(
    'proxy/pipeline/body/memory.ts',
    'proxy/pipeline/body/memory.test.ts',
    // Memory of a refused body is never freed.
    ['this.#pool.count(-this.bytes)', 'this.#pool.count(0)'],
    // A complete body, perhaps already sent upstream, is refused.
    ['    this.#complete = true\n    this.#pool.remove(this)\n', ''],
    // So is one that inflates to more than its client sent.
    ['this.bytes < this.#length && !this.#complete', 'this.bytes < this.#length'],
    ['this.bytes < this.#length && !this.#complete', '!this.#complete'],
  ),
  ...faults(
    'proxy/pipeline/body/read-body.ts',
    'test/e2e/overload.test.ts',
    // Memory of finished requests stays taken.
    ["res.on('close', () => {\n      lease.release()", "res.on('close', () => {"],
    // The limit of an endpoint has no effect.
    ['limits.endpointBytes.get(endpoint) ?? Infinity', 'Infinity'],
  ),
  ...faults(
    'proxy/pipeline/body/read-body.ts',
    'test/e2e/relay/body-memory.test.ts',
    // A body is held twice for the length of its call.
    ['    const chunks = this.#whole\n    this.clear()', '    const chunks = this.#whole'],
  ),
  ...faults(
    'proxy/pipeline/body/receive.ts',
    'proxy/pipeline/body/receive.test.ts',
    // The beginning of a body that came early is lost.
    ['    if (this.#isStream) return false\n', ''],
    // A receiver that has let go gets the rest.
    ['  letGo(): void {\n    this.#receiver = undefined', '  letGo(): void {'],
    ["off('data', take).off('end', end)", "off('data', take)"],
    // A refused upload that is drained never ends.
    ['    this.#receiver = undefined\n    super._read(size)', '    super._read(size)'],
    // A client that left is waited for.
    ['    receiver?.gone()\n', ''],
    // A full receiver is sent more, or never again.
    ['if (!receiver.take(chunk)) req.pause()', 'receiver.take(chunk)'],
    [
      '    if (chunk !== null) return receiver.take(chunk)',
      '    if (chunk !== null) return receiver.take(chunk) || true',
    ],
    ['    if (this.#receiver !== undefined) super._read(0)', ''],
    // Each body goes through the stream.
    ['if (req instanceof Incoming && req.passTo(receiver)) return req', ''],
    ['else this._dumpAndCloseReadable()', 'else super.push(null)'],
  ),
  ...faults(
    'proxy/dialects/core/json/scanner.ts',
    'proxy/dialects/core/json/scanner-pieces.test.ts',
    // An escape at the end of a piece is forgotten.
    ['if ((bytes.length - before) % 2 === 1) this.#escaped = true', ''],
    ['this.#inString = close >= bytes.length\n    if (this.#inString) {', 'if (close >= bytes.length) {'],
  ),
  ...faults(
    'proxy/server/error-response.ts',
    'proxy/server/error-response.test.ts',
    // A waiting refusal ends the connection of the answer before it.
    ["if (res.socket === null) res.once('socket', linger)\n  else linger()", 'linger()'],
  ),
  ...faults(
    'proxy/server/error-response.ts',
    'test/e2e/http/unsent-bodies.test.ts',
    // The connection of a client that is still sending is closed, so the client loses its answer.
    ['if (req.complete) res.end(body)', 'if (req.complete || !res.shouldKeepAlive) res.end(body)'],
  ),
  ...faults(
    'proxy/pipeline/answer/deliver.ts',
    'test/integration/proxy/keepsake.test.ts',
    // The conversations of a closed WebSocket stay in memory.
    ['if (to instanceof HttpClient) keep(', 'keep('],
    // A large answer stays in memory.
    ['+ sizeOf(lane.body) + answer', '+ sizeOf(lane.body)'],
    // Only the last request is kept, whatever its kind.
    ['keepsake.keep(', "keepsake.keep('' && "],
  ),
  ...faults(
    'proxy/pipeline/request/keepsake.ts',
    'test/integration/proxy/keepsake.test.ts',
    // Any body stays in memory.
    ['if (bytes <= MOST_BYTES) ', ''],
    // Nothing is kept.
    ['if (bytes <= MOST_BYTES) this.#objects.set(kind, objects)', 'void [kind, bytes, objects]'],
  ),
]
