/** The rate limits that apply to a request: those of its key, of its account and of the account's parent. */
import { matchesGlob } from '../../contract/glob.ts'
import { countersOf } from '../../contract/ids.ts'
import type { AccountRecord, KeyRecord, LimitRecord } from '../../contract/table/records.ts'
import type { Meter } from '../../store/ledger/contract.ts'
import { GatewayError } from '../errors.ts'

/** A limit, and the meter that counts the request in it. */
export interface Limit extends Pick<LimitRecord, 'kind' | 'model' | 'queue'> {
  whose: 'key' | 'account'
  meter: Meter
}

/** How much of a limit is left. */
export interface LimitState extends Limit {
  left: number
}

interface Request {
  key: KeyRecord
  account: AccountRecord
  /** As the client names it. */
  model: string
  /** The most that the request may use. */
  tokens: number
}

export function limitsOf(request: Request): Limit[] {
  const applies = ({ model }: LimitRecord) => model === undefined || matchesGlob(model, request.model)
  return allLimits(request, applies, request.tokens)
}

/** All limits of a key and its account, whatever the model; not those of the account's parent. */
export function limitsOfCaller({
  key,
  account,
}: {
  key: KeyRecord
  account: AccountRecord | undefined
}): Limit[] {
  if (account === undefined) return []
  const { parent: _, ...own } = account
  return allLimits({ key, account: own }, () => true, 0)
}

function allLimits(
  { key, account }: Pick<Request, 'key' | 'account'>,
  applies: (record: LimitRecord) => boolean,
  tokens: number,
): Limit[] {
  const { id, limits, parent } = account
  if (!key.limits?.length && !limits?.length && !parent?.limits?.length) return []
  const of = (whose: Limit['whose'], owner: string, records: readonly LimitRecord[] = []) =>
    records.filter(applies).map(({ id, kind, most, windowMs, model, queue }): Limit => {
      const takes = kind === 'tokens' ? tokens : 1
      const meter = { id: `${countersOf(whose, owner)}/${id}`, most, windowMs, takes }
      return { whose, kind, model, queue, meter }
    })
  return [
    ...of('key', key.id, key.limits),
    ...of('account', id, limits),
    ...(parent === undefined ? [] : of('account', parent.id, parent.limits)),
  ]
}

export function limitExceeded({ whose, kind, model, meter }: Limit, waitMs: number): GatewayError {
  const who = whose === 'key' ? 'This API key' : 'This account'
  const of = model === undefined ? '' : ` for the model ${model}`
  const window = meter.windowMs === 60_000 ? 'a minute' : 'a day'
  const amount =
    kind === 'concurrent' ? `${meter.most} requests at a time` : `${meter.most} ${kind} ${window}`
  return new GatewayError('rate_limit_exceeded', `${who} is limited to ${amount}${of}.`, {
    retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1_000)),
  })
}
