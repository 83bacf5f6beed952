/** Faults of WebSockets: their order, their memory, their end. */
import { faults, type Mutant } from '../fault.ts'

const CALLS = 'proxy/socket/connection-calls.test.ts'
const ENDS = 'proxy/socket/connection-ends.test.ts'
const REFUSALS = 'proxy/socket/connection-refusals.test.ts'
const BACK_PRESSURE = 'proxy/socket/connection-back-pressure.test.ts'
const BOUNDS = 'test/e2e/websocket/bounds.test.ts'
const UPGRADE = 'proxy/server/upgrade.test.ts'
const MEMORY = 'proxy/socket/memory.test.ts'
const STREAMS = 'proxy/socket/streams.test.ts'
const EVENTS = 'proxy/socket/events.test.ts'

export const SOCKETS: Mutant[] = [
  ...faults(
    'proxy/socket/streams.ts',
    STREAMS,
    // The last call is answered first, two of one stream run at once, or the second never runs.
    ['const job = jobs?.shift()', 'const job = jobs?.pop()'],
    ['      this.#busy.add(stream)\n', ''],
    ['if (this.#waiting.has(stream)) this.#ready.add(stream)', ''],
  ),
  // A connection runs more calls, under more names, than allowed.
  ...faults(
    'proxy/socket/limits.ts',
    CALLS,
    ['maxRunning: 16', 'maxRunning: 17'],
    ['maxNames: 32', 'maxNames: 33'],
  ),

  ...faults(
    'proxy/socket/events.ts',
    EVENTS,
    // Agents wait for their time-out when an error has no status.
    ['    status,\n    ...(stream', '    ...(stream'],
    ["if (event === 'error') return", 'if (false) return'],
    // Events do not name their stream.
    ['if (stream === undefined) return data', 'if (data !== undefined) return data'],
  ),
  ...faults(
    'proxy/socket/frames.ts',
    'proxy/socket/frames.test.ts',
    // An upstream gets fields of the message, and a warm-up calls the model.
    ["new Set(['type', 'stream_id', 'generate', 'stream'])", "new Set(['type', 'stream_id', 'stream'])"],
    [' && !(isRecord(cache) && cache.prewarm === true)', ''],
    // Searching one hostile message for its name stalls all clients.
    ['bytes.subarray(0, MAX_SEARCHED_BYTES)', 'bytes'],
    // Any text that starts like a name is one.
    ['/^[A-Za-z0-9_.-]{1,256}$/', '/^[A-Za-z0-9_.-]{1,256}/'],
  ),
  ...faults(
    'proxy/socket/socket-client.ts',
    'proxy/socket/socket-client.test.ts',
    // Messages overtake those that wait for a slow client.
    ['if (!this.#waits && this.#outbox.flowing) this', 'if (this.#outbox.flowing) this'],
    // After an error event the failed turn is remembered.
    ['if (error) this.failed = true', ''],
  ),

  ...faults(
    'proxy/socket/memory.ts',
    MEMORY,
    // A failing fork removes the response that another stream continues.
    ['answer !== undefined && answer.stream === stream', 'answer !== undefined'],
    // The newest answer of a stream is dropped before older ones of others.
    ['answers.find((answer) => !spared(answer)) ?? answers[0]', 'answers[0]'],
    // All sockets together fill the memory.
    ['    this.#pool.shrink()\n', ''],
    // A turn precedes the one that it follows.
    ['exchanges.reverse().flatMap', 'exchanges.flatMap'],
  ),

  // A client continues the parent of a turn that failed.
  ...faults('proxy/socket/connection.ts', 'proxy/socket/connection-memory.test.ts', [
    'if (client.failed && previous !== undefined) this.#memory.failed(stream, previous)',
    'void previous',
  ]),
  ...faults(
    'proxy/socket/connection.ts',
    ENDS,
    // The upstream keeps working, or starts to, for a client that left.
    ['for (const control of this.#calls) control.abort(new ClientGone())', ''],
    ['this.#intake.end()\n    this.#streams.drop()', 'this.#intake.end()'],
    // A socket whose key was revoked stays open.
    ["parts.revoked.addEventListener('abort', () => this.#revoke())", ''],
    // Clients of a stopping gateway believe that they are refused.
    ['const GOING_AWAY = 1001', 'const GOING_AWAY = 1000'],
    // Sockets last forever.
    ['now() - this.#openedAt >= limits.maxAgeMs', 'false'],
  ),
  ...faults(
    'proxy/socket/connection.ts',
    REFUSALS,
    ['if (isBinary || !Buffer.isBuffer(data)) {', 'if (!Buffer.isBuffer(data)) {'],
    // Nonsense is answered forever, or a good client is closed for its tenth slip in a day.
    ['if (++this.#refusals >= this.#parts.limits.maxRefusals)', 'if (this.#refusals < 0)'],
    ['      this.#refusals = 0\n', ''],
  ),
  // A flooding client is read without limit.
  ...faults('proxy/socket/connection.ts', BACK_PRESSURE, [
    'const enough = this.#streams.full || !this.#outbox.flowing',
    'const enough = false',
  ]),
  // Pings inside a long message are taken for part of it.
  ...faults('proxy/socket/connection.ts', 'proxy/socket/connection-intake.test.ts', [
    'this.#intake.control(data.length)',
    'void data',
  ]),
  // Frames between pieces take any amount of memory.
  ...faults('proxy/socket/intake.ts', 'proxy/socket/connection-intake.test.ts', [
    '(unread > UNCOUNTED_BYTES ? unread : 0)',
    '(unread - this.#control > UNCOUNTED_BYTES ? unread : 0)',
  ]),
  // Connections of vanished clients stay open.
  ...faults('proxy/socket/heartbeat.ts', ENDS, [
    'if (!ws.isPaused && socket.bytesRead === received) ws.terminate()',
    '',
  ]),
  // A message may take forever, and a client may leave its answer unread.
  ...faults('proxy/socket/intake.ts', 'proxy/socket/intake.test.ts', ['      else onTimeout()\n', '']),
  ...faults('proxy/socket/stall.ts', 'proxy/socket/stall.test.ts', ['++still > LOOKS', '++still > 1_000']),
  // Unread answers are kept without limit.
  ...faults('proxy/socket/outbox.ts', 'proxy/socket/socket-client.test.ts', [
    'this.#ws.bufferedAmount > this.#limits.maxUnsentBytes',
    'false',
  ]),
  // Each message is a write of its own.
  ...faults('proxy/socket/outbox.ts', 'proxy/socket/socket-client.test.ts', ['this.#socket.cork()', '']),

  ...faults(
    'proxy/socket/sockets.ts',
    UPGRADE,
    ['perMessageDeflate: false', 'perMessageDeflate: true'],
    // A client speaks an unknown subprotocol.
    ['      handleProtocols: () => false as const,\n', ''],
  ),
  // One message fills the memory by its bytes or its frames; answering one client's pings starves the others.
  ...faults(
    'proxy/socket/sockets.ts',
    REFUSALS,
    ['      maxPayload: maxMessageBytes,\n', ''],
    ['      maxFragments,\n', ''],
    ['maxPendingAutoPongs: maxPendingPongs', 'maxPendingAutoPongs: 0'],
  ),
  // A refused handshake has no id and is not logged.
  ...faults('proxy/socket/sockets.ts', 'test/e2e/websocket/abuse-handshakes.test.ts', [
    "this.#server.on('wsClientError'",
    "this.#server.on('never'",
  ]),
  // The settings report wrong values.
  ...faults(
    'proxy/settings.ts',
    BOUNDS,
    ['env.SLUICE_SOCKET_MAX_MESSAGE_BYTES', 'env.SLUICE_MAX_BODY_BYTES'],
    ['env.SLUICE_SOCKET_MAX_FRAGMENTS', '1_024'],
  ),
  ...faults(
    'proxy/server/upgrade.ts',
    UPGRADE,
    // A socket opens without a key or at a stopping proxy, and its calls are not counted.
    ['await admit(admission, arrived)', '{ caller: { hash: admit.name, key: {} }, record: arrived.record }'],
    ['    const load = loadProblem(parts)\n', '    const load = parts.overload.problem()\n'],
    ['leave = overload.enter(() => addressOf(ports.admission, call.req))', 'leave = () => undefined'],
    // Agents do not learn that they must fall back to HTTP.
    [
      "return new GatewayError('upgrade_required', message)",
      "return new GatewayError('invalid_request', message)",
    ],
  ),
]
