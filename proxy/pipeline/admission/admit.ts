/** Finds the caller, and checks whether its key may be used now and from its address. */
import type { IncomingMessage } from 'node:http'
import type { AddressSet } from '../../../contract/address.ts'
import { after, type Soon } from '../../../kit/soon.ts'
import { authenticate } from '../../auth/authenticate.ts'
import { clientAddress } from '../../auth/client-address.ts'
import type { TableFollower } from '../../table/follower.ts'
import type { AdmittedContext, RequestContext } from '../request/context.ts'
import type { Revocation } from './revocation.ts'

export interface Admission {
  follower: Pick<TableFollower, 'table' | 'key' | 'account'>
  revocation: Revocation
  /** Proxies whose X-Forwarded-For is believed. */
  trustedProxies: AddressSet
}

/** Authenticates a request by these headers, and logs the caller. Throws GatewayError. */
export function admit(
  admission: Pick<Admission, 'follower' | 'trustedProxies'>,
  ctx: RequestContext,
  rawHeaders: readonly string[] = ctx.req.rawHeaders,
): Soon<AdmittedContext> {
  const { record, time } = ctx
  const { follower } = admission
  const address = addressOf(admission, ctx.req)
  record.client = address
  const records = {
    key: (hash: string) => time.spend(() => follower.key(hash)),
    account: (id: string) => time.spend(() => follower.account(id)),
  }
  const presented = { rawHeaders, address, nowMs: Date.now() }
  const found = ctx.stage('admit', () =>
    authenticate(records, presented, (key, account) => {
      record.key = `${key.namespace}/${key.name}`
      record.keyPreview = key.preview
      record.namespace = key.namespace
      record.account = account?.ofKey === true ? undefined : account?.name
    }),
  )
  return after(found, (caller) => Object.assign(ctx, { caller }))
}

/** Aborts the request when its key is revoked while it runs. */
export function endWithKey({ revocation }: Pick<Admission, 'revocation'>, ctx: AdmittedContext): void {
  ctx.onEnd(revocation.watch(ctx.caller, ctx.record.client, ctx.control))
}

/** The client's address; undefined if it is unknown. */
export function addressOf(
  { trustedProxies }: Pick<Admission, 'trustedProxies'>,
  { headers, socket }: IncomingMessage,
): string | undefined {
  const forwarded = headers['x-forwarded-for']
  return clientAddress(
    socket.remoteAddress,
    Array.isArray(forwarded) ? forwarded.join(',') : forwarded,
    trustedProxies,
  )
}
