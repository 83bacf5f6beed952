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
    // The last call is answered first, two of one stream at once, or the second never.
    ['const job = jobs?.shift()', 'const job = jobs?.pop()'],
    ['      this.#busy.add(stream)\n', ''],
    ['if (this.#waiting.has(stream)) this.#ready.add(stream)', ''],
  ),
  // More run than a connection may have, under more names.
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
    // Nobody knows which stream an event is of.
    ['if (stream === undefined) return data', 'if (data !== undefined) return data'],
  ),
  ...faults(
    'proxy/socket/frames.ts',
    'proxy/socket/frames.test.ts',
    // An upstream is told what belongs to the message, and what only prepares asks the model.
    ["new Set(['type', 'stream_id', 'generate', 'stream'])", "new Set(['type', 'stream_id', 'stream'])"],
    [' && !(isRecord(cache) && cache.prewarm === true)', ''],
    // Everybody waits while the name of one hostile message is looked for.
    ['bytes.subarray(0, MAX_SEARCHED_BYTES)', 'bytes'],
    // Whatever begins like a name is one.
    ['/^[A-Za-z0-9_.-]{1,256}$/', '/^[A-Za-z0-9_.-]{1,256}/'],
  ),
  ...faults(
    'proxy/socket/socket-client.ts',
    'proxy/socket/socket-client.test.ts',
    // Messages overtake those that wait for a slow client.
    ['if (!this.#waits && this.#outbox.flowing) this', 'if (this.#outbox.flowing) this'],
    // After an error by an event the failed turn is remembered.
    ['if (error) this.failed = true', ''],
  ),

  ...faults(
    'proxy/socket/memory.ts',
    MEMORY,
    // A fork that fails takes what another stream goes on from.
    ['answer !== undefined && answer.stream === stream', 'answer !== undefined'],
    // The newest answer of a stream goes before older ones of others.
    ['answers.find((answer) => !spared(answer)) ?? answers[0]', 'answers[0]'],
    // All sockets together fill the memory.
    ['    this.#pool.shrink()\n', ''],
    // A turn stands before the one that it follows.
    ['exchanges.reverse().flatMap', 'exchanges.flatMap'],
  ),

  // A client goes on from the parent of a turn that failed.
  ...faults('proxy/socket/connection.ts', 'proxy/socket/connection-memory.test.ts', [
    'if (client.failed && previous !== undefined) this.#memory.failed(stream, previous)',
    'void previous',
  ]),
  ...faults(
    'proxy/socket/connection.ts',
    ENDS,
    // The upstream works on for a client that left, or begins to.
    ['for (const control of this.#calls) control.abort(new ClientGone())', ''],
    ['this.#intake.end()\n    this.#streams.drop()', 'this.#intake.end()'],
    // A socket whose key was taken back stays.
    ["parts.revoked.addEventListener('abort', () => this.#revoke())", ''],
    // Clients take a gateway that stops for one that has had enough of them.
    ['const GOING_AWAY = 1001', 'const GOING_AWAY = 1000'],
    // Sockets last for ever.
    ['now() - this.#openedAt >= limits.maxAgeMs', 'false'],
  ),
  ...faults(
    'proxy/socket/connection.ts',
    REFUSALS,
    ['if (isBinary || !Buffer.isBuffer(data)) {', 'if (!Buffer.isBuffer(data)) {'],
    // Nonsense is answered for ever, or a good client is thrown out for its tenth slip in a day.
    ['if (++this.#refusals >= this.#parts.limits.maxRefusals)', 'if (this.#refusals < 0)'],
    ['      this.#refusals = 0\n', ''],
  ),
  // Who floods is read without end.
  ...faults('proxy/socket/connection.ts', BACK_PRESSURE, [
    'const enough = this.#streams.full || !this.#outbox.flowing',
    'const enough = false',
  ]),
  // Pings beside a long message are taken for part of it.
  ...faults('proxy/socket/connection.ts', 'proxy/socket/connection-intake.test.ts', [
    'this.#intake.control(data.length)',
    'void data',
  ]),
  // What stands between pieces keeps as much memory as a client likes.
  ...faults('proxy/socket/intake.ts', 'proxy/socket/connection-intake.test.ts', [
    '(unread > UNCOUNTED_BYTES ? unread : 0)',
    '(unread - this.#control > UNCOUNTED_BYTES ? unread : 0)',
  ]),
  // Connections of clients that are gone stay.
  ...faults('proxy/socket/heartbeat.ts', ENDS, ['if (!deaf() && bytesRead() === heard) dead()', '']),
  // A message may take for ever, and a client may leave its answer unread.
  ...faults('proxy/socket/intake.ts', 'proxy/socket/intake.test.ts', ['      else late()\n', '']),
  ...faults('proxy/socket/stall.ts', 'proxy/socket/stall.test.ts', ['++still > LOOKS', '++still > 1_000']),
  // What a client does not read is kept without end.
  ...faults('proxy/socket/outbox.ts', 'proxy/socket/socket-client.test.ts', [
    'this.#ws.bufferedAmount > this.#limits.maxUnsentBytes',
    'false',
  ]),

  ...faults(
    'proxy/socket/sockets.ts',
    UPGRADE,
    ['perMessageDeflate: false', 'perMessageDeflate: true'],
    // A client speaks a protocol that nobody here knows.
    ['      handleProtocols: () => false as const,\n', ''],
  ),
  // One message fills the memory, by its bytes or its frames; one client is answered pings and nobody else anything.
  ...faults(
    'proxy/socket/sockets.ts',
    REFUSALS,
    ['      maxPayload: maxMessageBytes,\n', ''],
    ['      maxFragments,\n', ''],
    ['maxPendingAutoPongs: maxPendingPongs', 'maxPendingAutoPongs: 0'],
  ),
  // A refused handshake has no id, and stands in no log.
  ...faults('proxy/socket/sockets.ts', 'test/e2e/websocket/abuse-handshakes.test.ts', [
    "this.#server.on('wsClientError'",
    "this.#server.on('never'",
  ]),
  // The settings say what is not so.
  ...faults(
    'proxy/settings.ts',
    BOUNDS,
    ['env.SLUICE_SOCKET_MAX_MESSAGE_BYTES', 'env.SLUICE_MAX_BODY_BYTES'],
    ['env.SLUICE_SOCKET_MAX_FRAGMENTS', '1_024'],
  ),
  ...faults(
    'proxy/server/upgrade.ts',
    UPGRADE,
    // A socket opens without a key, at a proxy that stops, and its calls are not counted.
    ['await admit(admission, arrived)', '{ caller: { hash: admit.name, key: {} }, record: arrived.record }'],
    ['    const load = loadProblem(parts)\n', '    const load = loadOf(parts.overload)\n'],
    ['leave = overload.enter(() => addressOf(ports.admission, call.req))', 'leave = () => undefined'],
    // Agents are not told to go on over HTTP.
    [
      "return new GatewayError('upgrade_required', message)",
      "return new GatewayError('invalid_request', message)",
    ],
  ),
]
