/** Faults of the relay's call; those of its addresses are not here. */
import { faults, type Mutant } from '../fault.ts'

export const RELAY: Mutant[] = [
  ...faults(
    'proxy/relay/request.ts',
    'proxy/relay/request.test.ts',
    // The gateway and the upstream read different bodies.
    ["new Set(['url', 'format', 'body'])", 'new Set()'],
  ),
  // A beta that a client did not ask for.
  ...faults('proxy/dialects/messages/version.ts', 'proxy/relay/request.test.ts', [
    "Object.hasOwn(body, 'speed')",
    "'speed' in Object.assign(Object.create(body), body.__proto__)",
  ]),
  ...faults('proxy/dialects/messages/index.ts', 'proxy/relay/request.test.ts', [
    '/anthropic|claude|messages/i',
    '/anthropic|claude|messages/',
  ]),

  ...faults(
    'proxy/relay/upstream-key.ts',
    'proxy/relay/upstream-key.test.ts',
    // Of two keys one is taken, whoever chose it.
    ['values.length === 1 ?', 'values.length > 0 ?'],
    // Our own keys go to any host.
    ['if (holdsMintedKey(key)) throw ownKey()', ''],
    ['if (await isKnown(find(keyHash(candidate)))) throw ownKey()', 'await find(keyHash(candidate))'],
    // So does one among other parts.
    [', ...text.split(SEPARATOR)]', ']'],
    [', ...values,', ','],
    // A caller makes the gateway look up as many keys as it likes.
    ['if (candidates.size > MAX_CANDIDATES) throw malformed()', ''],
    [
      'if (error instanceof RecordUnreadable) return true',
      'if (error instanceof RecordUnreadable) return false',
    ],
    // The relay needs Redis.
    ['if (error instanceof StoreUnavailable) return false', ''],
    // The upstream's key is taken for one of ours.
    ["valuesOf(rawHeaders, 'x-api-key').flatMap", "valuesOf(rawHeaders, 'authorization').flatMap"],
  ),

  ...faults(
    'proxy/relay/upstream-request.ts',
    'proxy/relay/upstream-request.test.ts',
    // An upstream compresses for a client that did not ask for it.
    ["'accept-encoding': 'identity',", ''],
  ),

  ...faults(
    'proxy/relay/rates.ts',
    'proxy/relay/rates.test.ts',
    // A refusal makes the wait longer.
    ['if (waitMs > 0.001)', 'this.#paidUntil.set(client, paidUntil)\n    if (waitMs > 0.001)'],
    // Clients without end fill the memory.
    ['if (known === undefined && this.#paidUntil.size >= this.#maxClients) this.#forgetOne()', ''],
    // What is in flight is forgotten with its client.
    ['if (this.#inFlightOf.of(client) > 0) continue', ''],
    // A minute that was not used is saved up for ever.
    ['Math.max(this.#paidUntil.get(client) ?? 0, now)', '(this.#paidUntil.get(client) || now)'],
  ),

  ...faults(
    'proxy/relay/answer-headers.ts',
    'proxy/relay/answer-headers.test.ts',
    // A header of an upstream breaks the answer.
    ['&& isWritable(name, text)', ''],
    ["'content-security-policy': 'sandbox',", ''],
  ),

  ...faults(
    'proxy/outbound/checked.ts',
    'proxy/outbound/checked.test.ts',
    // The name is looked up a second time.
    ['lookup: (_name, _options, done) => done(null, checked),', ''],
    ["host: 'checked',", 'host: addresses[0],'],
    ["if (!isAllowed(unmap(direct.remoteAddress ?? ''), target)) throw new Error('another address')", ''],
    // A certificate of anybody will do.
    ['rejectUnauthorized: true,', ''],
    // The time to connect is without end.
    ['const timer = setTimeout(stop, connectMs)', 'const timer = setTimeout(stop, 600_000)'],
  ),

  // An answer of the proxy is taken for one of the upstream.
  ...faults('proxy/outbound/proxied.ts', 'proxy/outbound/checked.test.ts', [
    ' && socket.readableLength === 0',
    '',
  ]),

  ...faults(
    'proxy/relay/exchange.ts',
    'proxy/relay/exchange-hostile.test.ts',
    // A client takes a part for the whole.
    ["request.on('error', failIncomplete)", ''],
    ['if (socket !== null && !showsItsEnd) socket.resetAndClosing = true', ''],
    ['    cutOff(res)\n', ''],
    ['if (statusCode < 200 ||', 'if ('],
  ),
  ...faults(
    'proxy/relay/exchange.ts',
    'proxy/relay/exchange-stops.test.ts',
    // The whole answer is held for a client that does not read.
    ['if (!res.write(chunk)) answer.pause()', 'res.write(chunk)'],
    // A silent stream shows nothing.
    ['res.flushHeaders()', ''],
    // The upstream goes on for nobody.
    ["signal.addEventListener('abort', stop)", ''],
  ),

  ...faults(
    'proxy/relay/serve-relay.ts',
    'proxy/relay/serve-relay.test.ts',
    // The log keeps what a URL holds.
    ['undefined : url.origin', 'undefined : url.href'],
    // A revoked key's stream goes on.
    ['endWithKey(admission, admitted)', ''],
    // The process has no bound.
    ['ctx.onEnd(relay.rates.enter())', ''],
  ),
  ...faults(
    'proxy/pipeline/request/context.ts',
    'proxy/relay/serve-relay.test.ts',
    // A request that is over counts for ever.
    ['for (const release of this.#ends) release()', ''],
  ),
]
