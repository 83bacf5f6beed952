/** Faults of the controller. */
import { faults, type Mutant } from '../fault.ts'

const COMPILED = 'controller/compile/cases.test.ts'

export const CONTROLLER: Mutant[] = [
  ...faults(
    'controller/source/folder/catalogue.ts',
    'controller/source/folder/catalogue.test.ts',
    // A mistake in a resource takes its last good version out of force.
    ['this.#held.has(id) || this.#unclearFiles.has(entry.file)', 'this.#unclearFiles.has(entry.file)'],
  ),

  ...faults(
    'controller/compile/conditions.ts',
    COMPILED,
    // A newer resource takes over the key or the model of an older one.
    ['a.metadata.createdAt - b.metadata.createdAt', 'b.metadata.createdAt - a.metadata.createdAt'],
  ),

  // A budget is accepted and bounds nothing.
  ...faults('controller/compile/accounts.ts', COMPILED, [
    "['parent', 'budget', 'limits']",
    "['parent', 'limits']",
  ]),

  ...faults(
    'controller/compile/keys.ts',
    COMPILED,
    // Limits are accepted and bound nothing.
    ["findings.refusals.push({ reason: 'NotSupported'", "findings.notes.push({ reason: 'NotSupported'"],
    // A disabled key works.
    ['disabled: spec.disabled ?? false', 'disabled: false'],
    // A key never expires.
    ['until !== Number.POSITIVE_INFINITY && { expiresAt: until }', 'false'],
  ),

  ...faults(
    'controller/status/board.ts',
    'controller/status/board.test.ts',
    // An edit is said to be in force while a proxy still serves the old one.
    ['Math.min(...this.#live', 'Math.max(...this.#live'],
    // The one proof of what an account had is written over when the ledger does not answer.
    ['      ...recordedMoney(object.kind, found),\n', ''],
  ),

  ...faults(
    'controller/publish/publisher.ts',
    'controller/publish/publisher.test.ts',
    // Every reading of the folder makes all proxies swap their tables.
    ['changes.table === undefined && isEmpty(changes.keys)', 'false && isEmpty(changes.keys)'],
    // A store that was wiped ends the controller that would fill it again.
    ['(await store.config.position()).epoch >= epoch', 'epoch > 0'],
  ),

  ...faults(
    'controller/publish/removals.ts',
    'controller/publish/removals.test.ts',
    // Most keys go, and people hear nothing of it.
    ['* 2 > before[what]', '* 2 < 0'],
    // A deletion that arrives piece by piece is told of by its first piece, or not at all.
    ['this.#before ??= before', 'this.#before = before'],
  ),

  ...faults(
    'controller/publish/credits.ts',
    'controller/publish/credits.test.ts',
    // A ledger that was wiped gets every account's credits again: what was spent is given away.
    ['else if (account.used) this.#lose(id, account)', ''],
    // Restarting a controller makes up spending.
    ['Math.max(before.credited + added, posted + before.spent)', 'before.credited + added'],
  ),

  ...faults(
    'controller/status/writer.ts',
    'controller/status/writer.test.ts',
    // A controller that starts writes every status once more.
    ['matches(found.status, status) ||', ''],
  ),

  ...faults(
    'controller/publish/changes.ts',
    'controller/publish/publisher.test.ts',
    // A key whose resource is deleted works on.
    ['[...stored.keys()].filter((id) => !wanted.has(id))', '[]'],
  ),

  ...faults(
    'controller/compile/compilation.ts',
    'controller/compile/compilation.test.ts',
    // A key works on when its account is closed, or is refused when the account is back.
    ['for (const payer of this.#payers.get(id)) dirty.ids.add(payer)', ''],
    // A key that was refused beside an older one of the same value stays refused when that one is gone.
    ['for (const other of this.#claimants.get(hash)) dirty.ids.add(other)', ''],
    // A key whose resource is wrong works on.
    ['dirty.hashes.add(hash)', ''],
    // Routes do not hear of their channels.
    ['for (const id of this.#routing.get(namespace)) dirty.ids.add(id)', 'void namespace'],
  ),

  // A Secret that could not be read takes the key out of force that named another one before.
  ...faults('controller/source/cluster/cluster.ts', 'controller/source/cluster/cluster.test.ts', [
    'this.#delivered.has(id) && [...named]',
    'this.#delivered.size < 0 && [...named]',
  ]),

  // Credits that came while the store was away are forgotten.
  ...faults('controller/publish/publisher.ts', 'controller/publish/publisher.test.ts', [
    'before === undefined ? touched : merge(before.touched, touched)',
    'touched',
  ]),

  // Ready is said before every proxy serves it.
  ...faults('controller/status/board.ts', 'test/integration/fleet/agreement.test.ts', [
    'const served = Math.min(...this.#live',
    'const served = Math.max(...this.#live',
  ]),

  // A new upstream credential waits for another change.
  ...faults('controller/source/cluster/cluster.ts', 'test/integration/fleet/changes.test.ts', [
    'changes.filter(({ key }) => this.#named.has(key))',
    'changes.filter(({ key }) => key.length < 0)',
  ]),

  // Every change writes all records.
  ...faults('controller/publish/changes.ts', 'test/integration/fleet/writes.test.ts', [
    'if (stored.get(id) === hash) continue',
    '',
  ]),

  // A new leader writes every status again.
  ...faults('controller/status/writer.ts', 'test/integration/fleet/writes.test.ts', [
    'matches(found.status, status) ||',
    '',
  ]),

  // A resource is Ready by what was served before what it names came, or of an earlier one of its name.
  ...faults(
    'controller/status/board.ts',
    'controller/status/board.test.ts',
    ['isDeepStrictEqual(verdict(old), verdict(now))', 'true'],
    ['isDeepStrictEqual(old.fields, now.fields) &&', ''],
    ['old?.object.metadata.uid === object.metadata.uid', 'true'],
  ),

  // A list that is cut off before its end takes away what it had not reached.
  ...faults('controller/kube/reflector.ts', 'controller/kube/reflector.test.ts', [
    'if (from !== undefined) continue',
    'if (from !== undefined && from.length < 0) continue',
  ]),

  // A status that somebody took away is not written again.
  ...faults('controller/status/writer.ts', 'controller/status/writer.test.ts', [
    'seen !== undefined && !matches(seen.status, status)',
    'true',
  ]),

  // A spoilt table keeps proxies from starting until everything is looked at.
  ...faults('controller/lead.ts', 'test/integration/controller/redis.test.ts', [
    'this.#publisher.verifyTable()',
    'Promise.resolve()',
  ]),

  // A person who mends a field hears of the next fault only then.
  ...faults('controller/source/spec.ts', 'controller/source/spec.test.ts', [
    'for (const rule of kind.rules)',
    'for (const rule of parsed.success ? kind.rules : [])',
  ]),

  // A key stays in force after its end, until something else changes.
  ...faults('controller/main.ts', 'controller/main.test.ts', ['alarm.set(compiled.until)', '']),
  ...faults(
    'controller/compile/credentials.ts',
    'controller/compile/cases.test.ts',
    // The end of a short key, most of it, is shown.
    ["short ? '...' : ", ''],
  ),
  // What was judged of a key outlives its time.
  ...faults('controller/compile/keys.ts', 'controller/compile/cases.test.ts', [
    'isWithin(now, known.span) && ',
    '',
  ]),
  // Where one Secret of several changes, the old key goes on.
  ...faults('controller/compile/keys.ts', 'controller/compile/cases.test.ts', [
    'known.secrets.every((secret, i) => secret === secrets[i])',
    'known.secrets[0] === secrets[0]',
  ]),
  // A new leader calls every account ready before it has asked the ledger.
  ...faults('controller/status/board.ts', 'controller/status/board.test.ts', [
    "this.#credits.funds.has(account) ? 'known' : 'unknown'",
    "'known'",
  ]),

  // A field that was emptied is refused in a folder alone.
  ...faults('controller/source/spec.ts', 'controller/source/spec.test.ts', [
    'withoutNulls(kind.spec, written)',
    'written',
  ]),

  // A name that kubectl reads otherwise is said to be fine.
  ...faults('controller/source/folder/documents.ts', 'cli/validate.test.ts', [
    'if (String(value) === source) return',
    'return',
  ]),

  // The items of a list are lost.
  ...faults('controller/source/folder/items.ts', 'controller/source/folder/documents.test.ts', [
    'if (!success) return [document]',
    'if (!success || document.file) return [document]',
  ]),

  // A Credit whose Account is made anew is given a second time by a ledger that was wiped.
  ...faults('controller/status/board.ts', 'controller/status/board.test.ts', [
    'money: again?.money ?? {},',
    'money: {},',
  ]),

  // So is a Credit that the ledger took before a process could record it.
  ...faults('controller/publish/credits.ts', 'controller/publish/credits.test.ts', [
    "{ outcome: 'already', appliedAt: now() }",
    "{ outcome: 'already' }",
  ]),

  // A folder that is swapped while it is read loses what was not read.
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
    // What was deleted while the API server was away stays in force.
    ['if (!list.entries.has(key)) changes', 'if (false) changes'],
    // After each list everything is news.
    ['if (known?.resourceVersion === resourceVersion)', 'if (false)'],
  ),

  ...faults(
    'controller/kube/reflector.ts',
    'controller/kube/reflector.test.ts',
    // A place that the server has forgotten is asked for, for ever.
    ['if (status === GONE) {', 'if (false) {'],
    // A connection that is silently dead is waited on for ever.
    ['setTimeout(() => this.#stream.abort(), this', 'setTimeout(() => {}, this'],
  ),

  ...faults(
    'controller/kube/lease.ts',
    'controller/kube/lease.test.ts',
    // A second process of the same name leads beside the first.
    ['return this.#renewed?.renewTime === renewTime', 'return true'],
    // Who cannot renew still leads when another does.
    ['const RENEW_DEADLINE = 10 / 15', 'const RENEW_DEADLINE = 25 / 15'],
    // A leader that goes leaves a gap as long as its lease.
    ['await this.#giveBack(lease)', ''],
  ),

  // A create of which it is not known whether it was done is done twice.
  ...faults('controller/kube/client.ts', 'controller/kube/client.test.ts', [
    "status === 503 && call.method !== 'POST'",
    'status === 503',
  ]),

  // The values of a refused object stand in the log.
  ...faults('controller/kube/errors.ts', 'controller/kube/client.test.ts', ['code === 422 && ', 'false && ']),

  // What a channel says of itself is forgotten where a route names a profile.
  ...faults('controller/compile/routes.ts', COMPILED, [
    'featuresOf(channel.record.type, profile, channel.overrides)',
    'featuresOf(channel.record.type, profile)',
  ]),
  // Every upstream is taken for one that can do the least.
  ...faults('controller/compile/channels.ts', COMPILED, [
    'featuresOf(spec.type, spec.profile, spec.features)',
    'featuresOf(spec.type, undefined, spec.features)',
  ]),
]
