/** Faults of HTTP: the extent of a request, the order of answers, the number of requests. */
import { faults, type Mutant } from '../fault.ts'

const FRAMING = 'test/e2e/http/framing.test.ts'
const PIPELINING = 'test/e2e/http/pipelining.test.ts'
const LIMITS = 'test/e2e/http/limits.test.ts'
const SERVER = 'proxy/server/http-server.test.ts'

export const HTTP: Mutant[] = [
  ...faults(
    'proxy/server/request-problem.ts',
    FRAMING,
    // Two proxies disagree on the host.
    ['hosts.length > 1', 'hosts.length > 2'],
    ['hosts.some((host) => !HOST.test(host))', 'false'],
    // A body in an undecoded encoding is misread.
    ["coding.toLowerCase() !== 'chunked'", 'false'],
  ),
  ...faults(
    'proxy/server/request-problem.ts',
    LIMITS,
    // Heads are refused one too early or too late.
    ['rawHeaders.length / 2 > limits.maxHeaders', 'rawHeaders.length / 2 >= limits.maxHeaders'],
    ['headBytes(req) > limits.maxHeaderBytes', 'headBytes(req) > limits.maxHeaderBytes + 1'],
  ),

  ...faults(
    'proxy/server/request-queue.ts',
    PIPELINING,
    // The rest of an answer gets into a WebSocket.
    ['return last === undefined && !broken', 'return true'],
  ),

  ...faults(
    'proxy/server/request-queue.ts',
    SERVER,
    // A request already answered with a time-out is served and paid for.
    ['queue.broken || ', ''],
    // A request whose answer is never sent is served and paid for.
    ['queue.last?.shouldKeepAlive === false', 'false'],
  ),

  ...faults(
    'proxy/server/broken-request.ts',
    PIPELINING,
    // The refusal of a second request is taken for the answer to the first.
    ['last.req.complete) answerInTurn(socket, refusal)', 'last.req.complete) answerBare(socket, refusal)'],
  ),
  ...faults(
    'proxy/server/broken-request.ts',
    SERVER,
    // Half an answer looks complete.
    ['else if (last.headersSent) socket.destroy()', 'else if (last.headersSent) last.end()'],
  ),

  ...faults(
    'proxy/server/http-server.ts',
    FRAMING,
    // The end of one request is taken for the start of another.
    [' || req.headers.upgrade !== undefined', ''],
    // A client that requests a tunnel gets no answer.
    ["server.on('connect'", "server.on('tunnel'"],
  ),
  ...faults('proxy/server/http-server.ts', LIMITS, [
    'queue.count >= limits.maxRequestsPerConnection',
    'queue.count > limits.maxRequestsPerConnection',
  ]),
  ...faults(
    'proxy/server/http-server.ts',
    SERVER,
    // Clients that do not read hold their answers forever.
    ['cutIfUnread(res, limits.clientStallMs)', 'undefined'],
  ),

  ...faults(
    'proxy/server/connection-bounds.ts',
    LIMITS,
    [
      'byClient.of(client) < limits.maxConnectionsPerClient',
      'byClient.of(client) <= limits.maxConnectionsPerClient',
    ],
    ['taken >= limits.maxConnections', 'taken > limits.maxConnections'],
    // All clients of an ingress are taken for one.
    [
      'limits.trustedProxies.has(remoteAddress) ? undefined : networkOf(remoteAddress)',
      'networkOf(remoteAddress)',
    ],
    // A client that reached its limit is refused forever.
    ['      leave?.()\n', ''],
    // Requests of refused connections are served.
    ["server.removeAllListeners('connection')", ''],
  ),

  ...faults(
    'proxy/server/bare-answer.ts',
    FRAMING,
    // Errors do not show their source.
    ['x-sluice-error: ', 'x-other: '],
  ),
]
