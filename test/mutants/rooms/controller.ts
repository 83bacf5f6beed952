/** Faults of the controller. */
import { faults, type Mutant } from '../fault.ts'

const COMPILED = 'controller/compile/cases.test.ts'

export const CONTROLLER: Mutant[] = [
  ...faults(
    'controller/source/cluster/object.ts',
    'controller/source/cluster/unknown-fields.test.ts',
    // A resource with a field of a newer CRD is out of force.
    ['if (unknownFields.length > 0) (', 'if (unknownFields.length > 99) ('],
  ),

  ...faults(
    'controller/source/folder/catalogue.ts',
    'controller/source/folder/catalogue.test.ts',
    // A mistake in a resource withdraws its last good version.
    ['this.#held.has(id) || this.#unclearFiles.has(entry.file)', 'this.#unclearFiles.has(entry.file)'],
  ),

  ...faults(
    'controller/candidate.ts',
    'controller/candidate.test.ts',
    // Two controllers with one name lead at once.
    ["randomBytes(8).toString('hex')", "'same'"],
    // A leader that Redis has forgotten counts itself as one for ever.
    ['this.#now() - this.#renewedAt < this.#options.leaseMs * RENEW_DEADLINE', 'this.#renewedAt > 0'],
    // A leader that was replaced goes on.
    ['led && leader !== undefined && leader !== this.#identity', 'false'],
    // The next leader waits until the key has expired.
    ['    await this.#resign()\n', ''],
  ),
  ...faults(
    'controller/compile/conditions.ts',
    COMPILED,
    // A newer resource takes over the key or the model of an older one.
    ['a.metadata.createdAt - b.metadata.createdAt', 'b.metadata.createdAt - a.metadata.createdAt'],
  ),

  ...faults('controller/compile/accounts.ts', 'test/e2e/budgets.test.ts', [
    // A budget of an account does not bind its sub-accounts.
    '  ...(budgets && { budgets }),\n',
    '',
  ]),
  ...faults(
    'controller/compile/accounts.ts',
    COMPILED,
    // A sub-account with a budget needs Credits as well.
    ['spec.budget?.amount !== undefined && { byBudget: true }', 'false && { byBudget: true }'],
    // Limits of an account do not bind its sub-accounts.
    ['  ...(limits && { limits }),\n', ''],
    // A sub-account pays by itself.
    ['...(payer !== undefined && { parent', '...(false && { parent'],
    // A sub-account of a disabled account still spends.
    [' || payer?.disabled === true', ''],
    // An allowance is money.
    ['{ account: id } : { account: parent.id, sub: id }', '{ account: id } : { account: parent.id }'],
  ),
  ...faults(
    'controller/books/restore.ts',
    'controller/books/restore.test.ts',
    // A sub-account that was lost may spend its allowance again.
    ['parts: [undefined, ...subs]', 'parts: [undefined]'],
    // What a sub-account spends is not taken from its parent.
    ['(part !== undefined || ofLeader)', 'true'],
  ),

  ...faults(
    'controller/publish/publisher.ts',
    'controller/publish/publisher.test.ts',
    // A slow start of a leader leaves spoilt records as they are.
    ['this.#wanted = this.#repairJob()', 'this.#wanted = undefined'],
    // A removed key works until a new leader has read the checkpoint.
    ['this.#first && (await store.config.position()).generation > 0', 'false'],
    // The term of a new leader is not above that of the checkpoint.
    ['if (this.#epoch === undefined || this.#epoch > saved) return\n', 'return\n'],
  ),
  ...faults(
    'controller/publish/attempt.ts',
    'controller/lead.test.ts',
    // One node of a Cluster is down, and the accounts after it have no checkpoint.
    ['const AWAY = 64', 'const AWAY = 1'],
  ),
  ...faults(
    'controller/books/checkpoints.ts',
    'controller/books/checkpoints.test.ts',
    // A leader that stops is slow.
    ['hurry === undefined ? LAST_SAVES_AT_ONCE : 1', '1'],
  ),
  ...faults(
    'controller/books/restore.ts',
    'controller/books/restore.test.ts',
    // A leader with an older checkpoint takes back what the one before has restored.
    ['if (isFurther(balance, mark)) return []\n  const isNoted', 'const isNoted'],
    // Budgets come back empty, or count repeated settles twice.
    ['budgets: missingInBudgets(view, mark)', 'budgets: []'],
    ['note?.budgets?.includes(id) === true && !counted.has(ref)', 'note?.budgets?.includes(id) === true'],
    // It closes an account that lacks nothing.
    ['known === undefined || missingSpent(await look(ledger, restore), mark).length > 0', 'true'],
  ),

  ...faults(
    'controller/compile/keys.ts',
    COMPILED,
    // A key without an account has no limits.
    [
      'const isBound = ({ limits, budgets }: Bounds) => limits !== undefined ||',
      'const isBound = ({ budgets }: Bounds) =>',
    ],
    // A key without an account has no budget.
    ['limits !== undefined || budgets !== undefined', 'limits !== undefined'],
    // A disabled key works.
    ['disabled: spec.disabled ?? false', 'disabled: false'],
    // A key never expires.
    ['until !== Number.POSITIVE_INFINITY && { expiresAt: until }', 'false'],
  ),

  ...faults(
    'controller/status/board.ts',
    'controller/status/board.test.ts',
    // An edit is reported in force while a proxy still serves the old one.
    ['Math.min(...this.#live', 'Math.max(...this.#live'],
    // The only record of an account's money is overwritten when the ledger does not answer.
    ['      ...recordedFunds(object.kind, found),\n', ''],
  ),

  ...faults(
    'controller/books/risks.ts',
    'controller/books/risks.test.ts',
    // A policy that evicts every key counts as harmless.
    ["policy.startsWith('volatile-')", "policy !== 'allkeys-lru'"],
    // A server that is silent for a moment hides its settings.
    ['answer ?? this.#servers.get(server)', 'answer'],
    // A former primary is held against the store for ever.
    ['const servers = new Map<string, Keeping>()', 'const servers = new Map<string, Keeping>(this.#servers)'],
    // The log repeats every risk every 30 s.
    ['!isDeepStrictEqual(before, risks)', 'true'],
  ),

  ...faults(
    'controller/status/conditions.ts',
    'controller/status/board.test.ts',
    // A managed Redis that hides a setting puts every account at risk.
    ['eviction_unknown: undefined', "eviction_unknown: 'StoreEvicts'"],
    // An account that is not in force has a balance at risk.
    ["object.kind !== 'Account' || !object.inForce", "object.kind !== 'Account'"],
    // An account that is not opened waits without a reason.
    ["if (carried.balance === 'withheld') return", 'if (carried.balance === undefined) return'],
  ),

  ...faults(
    'controller/lead.ts',
    'test/integration/controller/risks.test.ts',
    // Accounts stay closed until a new leader comes.
    ['if (mayEvictAll(before) && !mayEvictAll(risks))', 'if (mayEvictAll(risks) && mayEvictAll(before))'],
    // A risk is logged again whenever another one begins or ends.
    ['if (before.some((known) => isDeepStrictEqual(known, risk))) continue', ''],
    // Settings that change at run time are not noticed.
    ['await this.#risks.look().catch(() => {})', 'await this.#risks.risks().catch(() => {})'],
    // Accounts are opened before the first look.
    ['!mayEvictAll(await this.#risks.risks())', '!mayEvictAll(this.risks)'],
  ),

  ...faults(
    'controller/publish/publisher.ts',
    'controller/publish/publisher.test.ts',
    // Every reading of the folder makes all proxies swap their tables.
    ['changes.table === undefined && isEmpty(changes.keys)', 'false && isEmpty(changes.keys)'],
    // A wiped store ends the controller that should refill it.
    ['(await store.config.position()).epoch >= epoch', 'epoch > 0'],
  ),

  ...faults(
    'controller/publish/removals.ts',
    'controller/publish/removals.test.ts',
    // Most keys are removed without a report.
    ['* 2 > before[what]', '* 2 < 0'],
    // A deletion in several steps is reported after the first one, or never.
    ['this.#before ??= before', 'this.#before = before'],
  ),

  ...faults(
    'controller/publish/accounts.ts',
    'controller/publish/credits.test.ts',
    // A wiped ledger gets every account's credits again: spent money is given away.
    ['mayCreate && (!account.used || this.#isProven(id, account))', 'mayCreate'],
    // Accounts are opened in a Redis that evicts them.
    ['mayCreate && (!account.used ||', '(!account.used ||'],
    // An account that was never opened counts as lost.
    ['account.used ? this.#lose(id, account) : withhold(account)', 'this.#lose(id, account)'],
  ),
  ...faults(
    'controller/publish/credits.ts',
    'controller/publish/credits.test.ts',
    // A controller that was replaced credits accounts.
    ["if (reply === 'FENCED') throw new Fenced()\n", ''],
  ),

  ...faults(
    'controller/books/restore.ts',
    'controller/books/restore.test.ts',
    // A request that a proxy repeats after a loss is charged twice.
    ['return counted.has(ref) ? sum : sum - delta', 'return sum - delta'],
    // New entries hide that others were lost.
    ['return found?.id === last', 'return true'],
    // A deleted Credit that is created again gives its money once more.
    ['await applyCredits(ledger, restore)', ''],
    // The costs since the loss are given away.
    [
      'const spent = markedOf(mark, part).spent + newlySpent(added, mark, part)',
      'const spent = markedOf(mark, part).spent',
    ],
    // A correction that was interrupted is made again.
    ["return adjusted.reason === 'restore' ? sum :", 'return'],
  ),
  ...faults(
    'controller/books/checkpoint-file.ts',
    'test/conformance/checkpoints/file.test.ts',
    // A leader that was replaced overwrites the checkpoint of the next one.
    ['if ((await read()).epoch > epoch) throw new Superseded()', ''],
  ),
  ...faults(
    'controller/books/checkpoint-secrets.ts',
    'test/conformance/checkpoints/secrets.test.ts',
    ['else if (epochOf(found) > epoch) throw new Superseded()', ''],
    // The next saves of a part all fail.
    ['else versions.set(shard, found.metadata.resourceVersion)', ''],
  ),

  ...faults(
    'controller/books/sweep.ts',
    'controller/books/sweep.test.ts',
    // The holds of a dead proxy stay on accounts that no proxy uses any more.
    [
      'await this.#reap(account)\n      await this.#usage.count(account)\n      if (this.#journal',
      'await this.#usage.count(account)\n      if (this.#journal',
    ],
    // The entries of a busy account fill the memory of Redis.
    ['await this.#trimSometimes(account)', 'void account'],
    [
      'await this.#reap(account)\n        await this.#usage.count(account)\n        await this.#trim(account)',
      'await this.#reap(account)',
    ],
    // Old entries are removed at every look.
    ['this.#trimmedAt.set(account, now)', ''],
    // An account that was used last of all is read for ever.
    ['this.#over.set(account, at)', ''],
    // Of many holds that end together the most stay.
    [
      'while ((await this.#ledger.reap(account, BATCH)).length === BATCH);',
      'await this.#ledger.reap(account, BATCH)',
    ],
  ),

  ...faults(
    'controller/status/writer.ts',
    'controller/status/writer.test.ts',
    // A starting controller rewrites every status.
    ['matches(found.status, status) ||', ''],
  ),

  ...faults(
    'controller/publish/changes.ts',
    'controller/publish/publisher.test.ts',
    // A key keeps working after its resource is deleted.
    ['[...stored.keys()].filter((id) => !wanted.has(id))', '[]'],
  ),

  ...faults(
    'controller/compile/compilation.ts',
    'controller/compile/compilation.test.ts',
    // A key works although its account is closed, or is refused after the account is back.
    ['this.#addPayers(id, dirty)', ''],
    // A key of a sub-account works although the parent is gone.
    ["if (isNew && placeOf(payer).kind === 'Account') this.#addPayers(payer, dirty)", ''],
    // A key refused in favor of an older one of the same value stays refused when that one is deleted.
    ['for (const other of this.#claimants.get(hash)) dirty.ids.add(other)', ''],
    // A key with an invalid resource keeps working.
    ['dirty.hashes.add(hash)', ''],
    // Routes are not updated when their channels change.
    ['for (const id of this.#routing.get(namespace)) dirty.ids.add(id)', 'void namespace'],
  ),

  // A Secret that cannot be read withdraws the key that named another one before.
  ...faults('controller/source/cluster/cluster.ts', 'controller/source/cluster/cluster.test.ts', [
    'this.#delivered.has(id) && [...references]',
    'this.#delivered.size < 0 && [...references]',
  ]),

  // Credits applied while the store was down are forgotten.
  ...faults('controller/publish/publisher.ts', 'controller/publish/publisher.test.ts', [
    'before === undefined ? touched : merge(before.touched, touched)',
    'touched',
  ]),

  // Ready is reported before every proxy serves the resource.
  ...faults('controller/status/board.ts', 'test/integration/fleet/agreement.test.ts', [
    'const served = Math.min(...this.#live',
    'const served = Math.max(...this.#live',
  ]),

  // A new upstream credential takes effect only with another change.
  ...faults('controller/source/cluster/watched-secrets.ts', 'test/integration/fleet/changes.test.ts', [
    'changes.filter(({ key }) => this.named.has(key))',
    'changes.filter(({ key }) => key.length < 0)',
  ]),

  // Every change writes all records.
  ...faults('controller/publish/changes.ts', 'test/integration/fleet/writes.test.ts', [
    'if (stored.get(id) === hash) continue',
    '',
  ]),

  // A new leader rewrites every status.
  ...faults('controller/status/writer.ts', 'test/integration/fleet/writes.test.ts', [
    'matches(found.status, status) ||',
    '',
  ]),

  // A resource is Ready because of a publication older than its dependencies, or of a former one of its name.
  ...faults(
    'controller/status/board.ts',
    'controller/status/board.test.ts',
    ['isDeepStrictEqual(verdict(old), verdict(now))', 'true'],
    ['isDeepStrictEqual(old.fields, now.fields) &&', ''],
    ['old?.object.metadata.uid === object.metadata.uid', 'true'],
  ),

  // A truncated list withdraws the resources that it did not reach.
  ...faults('controller/kube/reflector.ts', 'controller/kube/reflector.test.ts', [
    'if (from !== undefined) continue',
    'if (from !== undefined && from.length < 0) continue',
  ]),

  // A status removed by someone else is not restored.
  ...faults('controller/status/writer.ts', 'controller/status/writer.test.ts', [
    'seen !== undefined && !matches(seen.status, status)',
    'true',
  ]),

  // A spoilt table keeps proxies from starting until everything is compared.
  ...faults('controller/lead.ts', 'test/integration/controller/redis.test.ts', [
    'this.#publisher.verifyTable()',
    'Promise.resolve()',
  ]),

  // A user who fixes one field learns of the next fault only then.
  ...faults('controller/source/spec.ts', 'controller/source/spec.test.ts', [
    'for (const rule of kind.rules)',
    'for (const rule of parsed.success ? kind.rules : [])',
  ]),

  // A key stays in force after its expiry until something else changes.
  ...faults('controller/main.ts', 'controller/main.test.ts', ['alarm.set(compiled.until)', '']),
  ...faults(
    'controller/compile/credentials.ts',
    'controller/compile/cases.test.ts',
    // Most of a short key is shown, as its end.
    ["short ? '...' : ", ''],
  ),
  // A verdict on a key outlives its validity.
  ...faults('controller/compile/keys.ts', 'controller/compile/cases.test.ts', [
    'isWithin(now, known.span) && ',
    '',
  ]),
  // If one of several Secrets changes, the old key keeps working.
  ...faults('controller/compile/keys.ts', 'controller/compile/cases.test.ts', [
    'known.secrets.every((secret, i) => secret === secrets[i])',
    'known.secrets[0] === secrets[0]',
  ]),
  // A new leader reports every account ready before it has queried the ledger.
  ...faults('controller/status/funds.ts', 'controller/status/board.test.ts', [
    "funds.has(account) ? 'known' : 'unknown'",
    "'known'",
  ]),

  // Only folder mode refuses an emptied field.
  ...faults('controller/source/spec.ts', 'controller/source/spec.test.ts', [
    'withoutNulls(kind.spec, written)',
    'written',
  ]),

  // A name that kubectl reads differently is accepted.
  ...faults('controller/source/folder/documents.ts', 'cli/validate.test.ts', [
    'if (String(value) === source) return',
    'return',
  ]),

  ...faults(
    'controller/source/folder/documents.ts',
    'controller/source/folder/documents.test.ts',
    // The trees of all files stay in memory.
    ['offsetOf(trees()[index], path)', 'offsetOf(document, path)'],
    // Each fault of a file parses it again.
    ['if (before !== undefined) return before', ''],
    // So does each resource.
    ['path.length === 0 ? start : ', ''],
    // A name that kubectl reads as a boolean is not found.
    ['for (const tree of trees) namesAsWritten(tree)', ''],
  ),

  // The items of a list are lost.
  ...faults('controller/source/folder/items.ts', 'controller/source/folder/documents.test.ts', [
    'if (!success) return [document]',
    'if (!success || document.file) return [document]',
  ]),

  // A resource gets the conditions of another one.
  ...faults('kit/shared-list.ts', 'kit/shared-list.test.ts', [
    'Object.hasOwn(b, name) && Reflect.get(a, name) === Reflect.get(b, name)',
    'Object.hasOwn(b, name)',
  ]),
  ...faults('kit/shared-list.ts', 'kit/shared-list.test.ts', ['latest.length === list.length', 'true']),

  // Of several ApiKeys with the same key, one is forgotten.
  ...faults('kit/multimap.ts', 'kit/multimap.test.ts', ['new Set([single, value])', 'new Set([value])']),
  ...faults('kit/multimap.ts', 'kit/multimap.test.ts', [
    'if (this.#single.get(key) === value) this.#single.delete(key)',
    'this.#single.delete(key)',
  ]),

  // A restored balance counts requests that the journal never had.
  ...faults('controller/books/note.ts', 'controller/publish/credits.test.ts', [
    "if (lastEntry !== undefined && (await journal?.ship(id, lastEntry)) === 'missing') return []",
    '',
  ]),

  // A mark has other credits than its sums: after a loss, a Credit is given twice, or is taken away.
  ...faults('controller/books/note.ts', 'controller/publish/credits.test.ts', [
    'await creditsSince(ledger, id, balance, before, known)',
    'known',
  ]),
  ...faults('controller/books/note.ts', 'controller/publish/credits.test.ts', [
    'if (isOlder(balance, before)) return []',
    '',
  ]),
  ...faults('controller/publish/credits.ts', 'controller/publish/credits.test.ts', [
    'if (sub !== undefined) accounts.addSub(account, sub)',
    '',
  ]),
  ...faults('controller/books/note.ts', 'controller/publish/credits.test.ts', [
    'if (unread.length === 0) checkpoints',
    'checkpoints',
  ]),

  // A wiped ledger gives a Credit a second time when its Account is recreated.
  ...faults('controller/status/board.ts', 'controller/status/board.test.ts', [
    'money: again?.money ?? NO_MONEY,',
    'money: {},',
  ]),

  // The same for a Credit that the ledger took before a process could record it.
  ...faults('controller/books/restore.ts', 'controller/books/restore.test.ts', [
    'create: true, closed: true',
    'create: true',
  ]),
  ...faults(
    'controller/books/journal.ts',
    'controller/books/journal.test.ts',
    // Lines are written twice.
    ['await before?.catch(() => {})', ''],
    ['found ||= page.some(({ id }) => id === upTo)', 'found = true'],
  ),
  ...faults('controller/publish/credits.ts', 'controller/publish/credits.test.ts', [
    "{ outcome: 'already', appliedAt: now() }",
    "{ outcome: 'already' }",
  ]),

  // Swapping a folder while it is read loses the unread part.
  ...faults('controller/source/folder/folder.ts', 'controller/source/folder/swapped.test.ts', [
    '!(await this.#hasOnly(read))',
    '(await this.#list()) === undefined',
  ]),

  // Half an object, cut off by a dying server, is taken for the end of a watch.
  ...faults('controller/kube/lines.ts', 'controller/kube/lines.test.ts', [
    'if (length > 0) throw',
    'if (false) throw',
  ]),

  ...faults(
    'controller/kube/object-cache.ts',
    'controller/kube/reflector.test.ts',
    // Resources deleted while the API server was down stay in force.
    ['if (!list.entries.has(key)) changes', 'if (false) changes'],
    // After each list every object counts as changed.
    ['if (known?.resourceVersion === resourceVersion)', 'if (false)'],
  ),

  ...faults(
    'controller/kube/reflector.ts',
    'controller/kube/reflector.test.ts',
    // A watch forever resumes at a version that the server has forgotten.
    ['if (status === GONE) {', 'if (false) {'],
    // A silently dead connection is waited on forever.
    ['setTimeout(() => this.#stream.abort(), this', 'setTimeout(() => {}, this'],
  ),

  ...faults(
    'controller/kube/lease.ts',
    'controller/kube/lease.test.ts',
    // A second process of the same name leads beside the first.
    ['return this.#renewed?.renewTime === renewTime', 'return true'],
    // A leader that cannot renew keeps leading beside its successor.
    ['const RENEW_DEADLINE = 10 / 15', 'const RENEW_DEADLINE = 25 / 15'],
    // A stopping leader leaves a gap as long as its Lease.
    ['await this.#giveBack(lease)', ''],
  ),

  // A create with an unknown outcome is done twice.
  ...faults('controller/kube/client.ts', 'controller/kube/client.test.ts', [
    "status === 503 && call.method !== 'POST'",
    'status === 503',
  ]),

  // The values of a refused object appear in the log.
  ...faults('controller/kube/errors.ts', 'controller/kube/client.test.ts', ['code === 422 && ', 'false && ']),

  // A channel's own settings are lost if a route names a profile.
  ...faults('controller/compile/routes.ts', COMPILED, [
    'featuresOf(channel.record.type, profile, channel.overrides)',
    'featuresOf(channel.record.type, profile)',
  ]),
  // Every upstream is assumed to support the least.
  ...faults('controller/compile/channels.ts', COMPILED, [
    'featuresOf(spec.type, spec.profile, spec.features)',
    'featuresOf(spec.type, undefined, spec.features)',
  ]),
]
