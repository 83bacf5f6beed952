/** Faults of conversations: owners, order, storage and affinity. */
import { faults, type Mutant } from '../fault.ts'

const CHAINS = 'test/e2e/conversations/chains.test.ts'
const AFFINITY = 'test/e2e/conversations/affinity.test.ts'
const OWNERS = 'test/integration/conversations/owners.test.ts'
const MONEY = 'test/integration/conversations/money.test.ts'
const AWAY = 'test/integration/conversations/store-away.test.ts'
const EMBEDDED = 'test/conformance/store/embedded.test.ts'
const REDIS = 'test/conformance/store/redis-conversations.test.ts'

export const CONVERSATIONS: Mutant[] = [
  // Every caller can continue every caller's responses.
  ...faults('store/keys.ts', CHAINS, [
    // biome-ignore-start lint/suspicious/noTemplateCurlyInString: it is the source text
    'resp:${digestOf(owner, id)',
    "resp:${digestOf('', id)",
    // biome-ignore-end lint/suspicious/noTemplateCurlyInString: it is the source text
  ]),
  // An outage of the store makes clients drop conversations that it still has.
  ...faults('proxy/pipeline/conversation/previous.ts', AWAY, [
    "throw new GatewayError('store_unavailable', 'Conv",
    "throw new GatewayError('previous_response_not_found', 'Conv",
  ]),

  ...faults(
    'proxy/pipeline/conversation/keep.ts',
    'test/conformance/endpoints/open-responses-socket.test.ts',
    // A request with store=false is stored.
    ['...(position.store ? [', '...(position ? ['],
  ),
  // The history that an upstream keeps is in no hold.
  ...faults('proxy/pipeline/conversation/keep.ts', MONEY, [
    ': totalInput(usage) + usage.output',
    ': totalInput(usage)',
  ]),
  // Conversations are lost without a report.
  ...faults('proxy/pipeline/conversation/keep.ts', AWAY, [
    'conversations.failed(error)',
    'void conversations',
  ]),

  // The end is sent before the answer is stored: the next request does not find it.
  ...faults(
    'proxy/pipeline/answer/stream-answer.ts',
    'proxy/pipeline/answer/stream-answer.test.ts',
    [
      'if (watch.due) keeping = watch.keep(observer.usage)\n        if (keeping !== undefined) {',
      'if (watch.due) void watch.keep(observer.usage)\n        if (keeping !== undefined) {',
    ],
    ['if (keeping !== undefined) await keeping', ''],
  ),
  ...faults('proxy/pipeline/answer/deliver.ts', 'test/integration/conversations/two-proxies.test.ts', [
    'job.watch.due ? job.watch.keep(usage) : undefined',
    'job.watch.due ? void job.watch.keep(usage) : undefined',
  ]),
  ...faults(
    'proxy/pipeline/serve.ts',
    'test/e2e/sockets.test.ts',
    // A warm-up calls the model, or cannot be continued.
    ['if (call.generate === false) await prepareOnly', 'if (false) await prepareOnly'],
    ['if (watch.due) await watch.keep(undefined)', ''],
  ),

  // All keys without an account share their conversations.
  ...faults('proxy/auth/authenticate.ts', OWNERS, [
    'account.ofKey === true ? key.id : account.id',
    "account.ofKey === true ? '' : account.id",
  ]),
  ...faults(
    'proxy/pipeline/conversation/open.ts',
    CHAINS,
    // A response that an upstream has forgotten is referred to again.
    [' && !target.withoutState', ''],
    // A chain leaves the channel that knows it.
    ['const channel = previous?.binding?.channel', 'const channel = undefined as string | undefined'],
  ),
  // The rest of a conversation that lost its start passes for the whole.
  ...faults('proxy/pipeline/conversation/open.ts', 'test/integration/conversations/trees.test.ts', [
    'if (history === undefined) throw notFound(previous.id)',
    'if (history === undefined) return request',
  ]),
  // History kept by an upstream is free before its first usage report.
  ...faults('proxy/pipeline/conversation/open.ts', MONEY, [
    '(head.input.tokens ?? 0) + binding.contextTokens',
    'head.input.tokens ?? 0',
  ]),
  ...faults(
    'proxy/pipeline/conversation/open.ts',
    AFFINITY,
    // Sessions bind without being requested.
    ["if (route.affinity.mode !== 'Session') return undefined", ''],
    // Encrypted reasoning goes to an upstream that cannot read it.
    ["look('state', state)", "look('state', undefined)"],
  ),
  ...faults('proxy/pipeline/conversation/watch.ts', AFFINITY, [
    'if (session !== undefined && several)',
    'if (false)',
  ]),
  // A deleted response still exists.
  ...faults('proxy/pipeline/stored-responses/serve-stored-response.ts', CHAINS, [
    '    await state.removeResponse(owner, id)\n',
    '',
  ]),

  ...faults(
    'proxy/affinity/affinity.ts',
    'proxy/affinity/session.test.ts',
    // Owners move each other's sessions, whose names are in clear in the store.
    // biome-ignore-start lint/suspicious/noTemplateCurlyInString: it is the source text
    ['`${kind}:${owner}:', '`${kind}::'],
    ["hash('sha256', name, 'hex')", 'name'],
    // biome-ignore-end lint/suspicious/noTemplateCurlyInString: it is the source text
  ),
  ...faults(
    'proxy/affinity/session.ts',
    'proxy/affinity/session.test.ts',
    // A prompt cache key does not name a session.
    ['return cacheKey !== undefined && isName(cacheKey) ? cacheKey : undefined', 'return undefined'],
    // The widest of several session names counts.
    ['for (const name of HEADERS)', 'for (const name of HEADERS.toReversed())'],
  ),

  ...faults(
    'store/embedded/conversations.ts',
    EMBEDDED,
    // Owners read each other's texts; nothing expires, or expires while in use; turns are in reverse order.
    ['JSON.stringify([owner, root, id])', 'JSON.stringify([root, id])'],
    ['found.ends <= now()', 'false'],
    ['for (const each of chain.values()) each.ends = ends', ''],
    ['.map(({ exchange }) => exchange).reverse()', '.map(({ exchange }) => exchange)'],
    // Freed room stays taken.
    ['    room.bytes -= bytes\n', ''],
  ),
  // One owner takes the room of all.
  ...faults('store/embedded/conversations.ts', 'store/embedded/conversations.test.ts', [
    'maxSize: capacity,',
    'maxSize: capacity * 2,',
  ]),
  ...faults(
    'store/redis/conversations.ts',
    REDIS,
    // A chain that someone joined together is read as one.
    ['return isChain(chain) ? chain : undefined', 'return chain'],
    // A read text loses its room first, and a removed one keeps it.
    ["    await connection.run('conversation/extend', roomKeys(owner), [longer, ...digests])\n", ''],
    ["    await connection.run('conversation/leave', roomKeys(owner), [digest])\n", ''],
  ),
  // A replaced text counts twice.
  ...faults('store/lua/conversation/take.lua', 'test/conformance/store/redis.test.ts', [
    'sum - before + bytes > most',
    'sum + bytes > most',
  ]),
]
