/** Faults of WebSockets: their order, their memory, their end. */
import { faults, type Mutant } from '../fault.ts'

const CONNECTION = 'proxy/socket/connection.test.ts'
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
    CONNECTION,
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

  ...faults(
    'proxy/socket/connection.ts',
    CONNECTION,
    // A client goes on from the parent of a turn that failed.
    ['if (client.failed && previous !== undefined) this.#memory.failed(stream, previous)', 'void previous'],
    // The upstream works on for a client that left.
    ['for (const control of this.#calls) control.abort(new ClientGone())', ''],
    ['if (isBinary || !Buffer.isBuffer(data)) {', 'if (!Buffer.isBuffer(data)) {'],
    // Clients take a gateway that stops for one that has had enough of them.
    ['const GOING_AWAY = 1001', 'const GOING_AWAY = 1000'],
    // Sockets last for ever.
    ['now() - this.#openedAt >= limits.maxAgeMs', 'false'],
    // Who floods is read without end.
    ['const enough = this.#streams.full || !this.#outbox.flowing', 'const enough = false'],
  ),
  // Connections of clients that are gone stay.
  ...faults('proxy/socket/heartbeat.ts', CONNECTION, ['if (!deaf() && bytesRead() === heard) dead()', '']),
  // What a client does not read is kept without end.
  ...faults('proxy/socket/outbox.ts', 'proxy/socket/socket-client.test.ts', [
    'this.#ws.bufferedAmount > this.#limits.maxUnsentBytes',
    'false',
  ]),

  ...faults('proxy/socket/sockets.ts', UPGRADE, ['perMessageDeflate: false', 'perMessageDeflate: true']),
  ...faults(
    'proxy/server/upgrade.ts',
    UPGRADE,
    // A socket opens without a key, at a proxy that stops, and its calls are not counted.
    ['await identify(gateway, req, record, new StoreTime())', 'void identify'],
    ['    const load = loadProblem(parts)\n', '    const load = loadOf(parts.overload)\n'],
    ['      overload.inFlight++\n', ''],
    // Agents are not told to go on over HTTP.
    [
      "return new GatewayError('upgrade_required', message)",
      "return new GatewayError('invalid_request', message)",
    ],
  ),
]
