/** Faults of the relay's call; relay-address.ts has those of its addresses. */
import { faults, type Mutant } from '../fault.ts'

export const RELAY: Mutant[] = [
  ...faults(
    'proxy/relay/request.ts',
    'proxy/relay/request.test.ts',
    // The gateway and the upstream read different bodies.
    ["new Set(['url', 'format', 'body'])", 'new Set()'],
  ),
  // A beta that a client did not request.
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
    // One of two keys is used, regardless of the caller's choice.
    ['values.length === 1 ?', 'values.length > 0 ?'],
    // Keys of the gateway go to any host.
    ['if (holdsMintedKey(key)) throw ownKey()', ''],
    ['if (await isKnown(find(keyHash(candidate)))) throw ownKey()', 'await find(keyHash(candidate))'],
    // A key among other parts goes to any host.
    [', ...text.split(SEPARATOR)]', ']'],
    [', ...values,', ','],
    // A caller makes the gateway look up any number of keys.
    ['if (candidates.size > MAX_CANDIDATES) throw malformed()', ''],
    [
      'if (error instanceof RecordUnreadable) return true',
      'if (error instanceof RecordUnreadable) return false',
    ],
    // The relay needs Redis.
    ['if (error instanceof StoreUnavailable) return false', ''],
    // The upstream's key is taken for a key of the gateway.
    ["valuesOf(rawHeaders, 'x-api-key').flatMap", "valuesOf(rawHeaders, 'authorization').flatMap"],
  ),

  ...faults(
    'proxy/relay/upstream-request.ts',
    'proxy/relay/upstream-request.test.ts',
    // An upstream compresses for a client that did not request it.
    ["'accept-encoding': 'identity',", ''],
  ),

  ...faults(
    'proxy/relay/rates.ts',
    'proxy/relay/rates.test.ts',
    // A refusal extends the wait.
    ['if (waitMs > 0.001)', 'this.#paidUntil.set(client, paidUntil)\n    if (waitMs > 0.001)'],
    // Any number of clients fills the memory.
    ['if (known === undefined && this.#paidUntil.size >= this.#maxClients) this.#forgetOne()', ''],
    // The count of requests in flight is forgotten with its client.
    ['if (this.#inFlightOf.of(client) > 0) continue', ''],
    // An unused minute is saved up forever.
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
    // Any certificate is accepted.
    ['rejectUnauthorized: true,', ''],
    // The connect time is unlimited.
    ['const timer = setTimeout(stop, connectMs)', 'const timer = setTimeout(stop, 600_000)'],
  ),

  // A proxy's answer is taken for the upstream's.
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
    // The upstream continues without a client.
    [
      'await unlessAborted(streamAnswer(call, res, received), signal)',
      'await streamAnswer(call, res, received)',
    ],
  ),

  ...faults(
    'proxy/relay/serve-relay.ts',
    'proxy/relay/serve-relay.test.ts',
    // The log contains the parameters of a URL.
    ['undefined : url.origin', 'undefined : url.href'],
    // A revoked key's stream continues.
    ['endWithKey(admission, admitted)', ''],
    // The process has no limit.
    ['ctx.onEnd(relay.rates.enter())', ''],
  ),
  ...faults(
    'proxy/pipeline/request/context.ts',
    'proxy/relay/serve-relay.test.ts',
    // A finished request counts forever.
    ['for (const release of this.#ends) release()', ''],
  ),
]
