/** Faults of conversations: who may go on from what, what was said in which order, where it is kept, and what binds. */
import { faults, type Mutant } from '../fault.ts'

const CHAINS = 'test/e2e/conversations/chains.test.ts'
const AFFINITY = 'test/e2e/conversations/affinity.test.ts'
const OWNERS = 'test/integration/conversations/owners.test.ts'
const MONEY = 'test/integration/conversations/money.test.ts'
const AWAY = 'test/integration/conversations/store-away.test.ts'
const EMBEDDED = 'test/conformance/store/embedded.test.ts'
const REDIS = 'test/conformance/store/redis-conversations.test.ts'

export const CONVERSATIONS: Mutant[] = [
  // Everybody goes on from everybody's answers.
  ...faults('store/keys.ts', CHAINS, [
    // biome-ignore-start lint/suspicious/noTemplateCurlyInString: it is the source text
    'resp:${digestOf(owner, id)',
    "resp:${digestOf('', id)",
    // biome-ignore-end lint/suspicious/noTemplateCurlyInString: it is the source text
  ]),
  // A store that is away makes clients forget conversations that it still has.
  ...faults('proxy/pipeline/conversation/previous.ts', AWAY, [
    "throw new GatewayError('store_unavailable', 'Conv",
    "throw new GatewayError('previous_response_not_found', 'Conv",
  ]),

  ...faults(
    'proxy/pipeline/conversation/keep.ts',
    'test/conformance/endpoints/open-responses-socket.test.ts',
    // What shall not be stored is.
    ['...(position.store ? [', '...(position ? ['],
  ),
  // What an upstream keeps of its own answers is held for nowhere.
  ...faults('proxy/pipeline/conversation/keep.ts', MONEY, [
    ': totalInput(usage) + usage.output',
    ': totalInput(usage)',
  ]),
  // Conversations are lost, and nobody is told.
  ...faults('proxy/pipeline/conversation/keep.ts', AWAY, [
    'conversations.failed(error)',
    'void conversations',
  ]),

  // The end is sent before the answer is kept: the next request does not find it.
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
    'await job.watch.keep(answer.usage)',
    'void job.watch.keep(answer.usage)',
  ]),
  ...faults(
    'proxy/pipeline/serve.ts',
    'test/e2e/sockets.test.ts',
    // What only prepares asks the model, or cannot be gone on from.
    ['if (call.generate === false) await prepareOnly', 'if (false) await prepareOnly'],
    ['if (watch.due) await watch.keep(undefined)', ''],
  ),

  // All keys that pay nothing have their conversations in common.
  ...faults('proxy/auth/authenticate.ts', OWNERS, ['account?.id ?? key.id', "account?.id ?? ''"]),
  ...faults(
    'proxy/pipeline/conversation/open.ts',
    CHAINS,
    // What an upstream has forgotten is named to it again.
    [' && !target.withoutState', ''],
    // A chain leaves the channel that knows it.
    ['    previous?.binding?.channel,\n', '    undefined,\n'],
  ),
  // The rest of a conversation whose beginning is lost passes for the whole.
  ...faults('proxy/pipeline/conversation/open.ts', 'test/integration/conversations/trees.test.ts', [
    'if (history === undefined) throw notFound(previous.id)',
    'if (history === undefined) return request',
  ]),
  // What an upstream keeps costs nothing before it was read.
  ...faults('proxy/pipeline/conversation/open.ts', MONEY, [
    '(head.input.tokens ?? 0) + binding.contextTokens',
    'head.input.tokens ?? 0',
  ]),
  ...faults(
    'proxy/pipeline/conversation/open.ts',
    AFFINITY,
    // Sessions bind where nobody asked for it.
    ["if (route.affinity.mode !== 'Session') return undefined", ''],
    // Encrypted thoughts go to an upstream that cannot read them.
    ["look('state', position?.bound.at(-1))", "look('state', undefined)"],
  ),
  ...faults('proxy/pipeline/conversation/watch.ts', AFFINITY, [
    'if (session !== undefined && several)',
    'if (false)',
  ]),
  // What was deleted is still there.
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
    // The key of a cache is no session.
    ['return cacheKey !== undefined && isName(cacheKey) ? cacheKey : undefined', 'return undefined'],
    // Of the names of a session the widest counts.
    ['for (const name of HEADERS)', 'for (const name of HEADERS.toReversed())'],
  ),

  ...faults(
    'store/embedded/conversations.ts',
    EMBEDDED,
    // Owners read each other's texts, nothing ever ends, or ends while it is used, and turns stand backwards.
    ['JSON.stringify([owner, root, id])', 'JSON.stringify([root, id])'],
    ['found.ends <= now()', 'false'],
    ['for (const each of chain.values()) each.ends = ends', ''],
    ['.map(({ exchange }) => exchange).reverse()', '.map(({ exchange }) => exchange)'],
    // Room that was given back is not.
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
    // A chain that somebody joined together is read as one.
    ['return isChain(chain) ? chain : undefined', 'return chain'],
    // What is read loses its room before its text, and what is removed keeps it.
    ["    await connection.run('conversation/extend', roomKeys(owner), [longer, ...digests])\n", ''],
    ["    await connection.run('conversation/leave', roomKeys(owner), [digest])\n", ''],
  ),
  // A text that is put again counts twice.
  ...faults('store/lua/conversation/take.lua', 'test/conformance/store/redis.test.ts', [
    'sum - before + bytes > most',
    'sum + bytes > most',
  ]),
]
