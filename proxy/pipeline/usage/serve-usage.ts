/** GET /v1/usage: the caller's own view. Authenticated like any request, logged, never billed; an empty balance does not matter. */
import { StoreUnavailable } from '../../../store/contract.ts'
import { GatewayError } from '../../errors.ts'
import { admit } from '../admission/admit.ts'
import { listModels } from '../models/models.ts'
import type { Ports } from '../ports.ts'
import { arrivalOf, type HttpRequest, sendWhole } from '../request/client.ts'
import { daySpan, ownUsage } from './own-usage.ts'

export function serveUsage(
  ports: Pick<Ports, 'admission' | 'journal' | 'bodies' | 'billing' | 'ledger'>,
  http: HttpRequest,
): Promise<void> {
  const { admission, journal, bodies, billing, ledger } = ports
  return journal.run(arrivalOf('usage', http), async (arrived) => {
    const { caller, req } = await admit(admission, arrived)
    const { table } = admission.follower
    const nowMs = billing.holds.storeNow
    const span = daySpan(new URLSearchParams(req.url?.split('?')[1]), nowMs)
    const models = listModels(table, caller, undefined).data.map(({ id }) => id)
    const names = new Map(
      [...table.models(caller.key.namespace)].map(({ route, model }) => [route.name, model]),
    )
    const modelOf = (route: string) => names.get(route) ?? route
    const answer = await ownUsage(ledger, { caller, span, models, modelOf, nowMs }).catch(unavailable)
    if (!http.res.headersSent)
      sendWhole(http.res, Buffer.from(JSON.stringify(answer)), bodies.limits.clientStallMs)
  })
}

function unavailable(error: unknown): never {
  if (!(error instanceof StoreUnavailable)) throw error
  throw new GatewayError('store_unavailable', 'Usage is not available at the moment.', {
    retryAfterSeconds: 1,
    cause: error,
  })
}
