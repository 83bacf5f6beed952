/** GET /v1/models and GET /v1/models/{model}: authenticated like any request, logged, never billed. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { GatewayError } from '../../errors.ts'
import { StoreTime } from '../../ledger/store-time.ts'
import type { RequestRecord } from '../../telemetry/request-log.ts'
import type { Gateway } from '../gateway.ts'
import { sendWhole } from '../request/client.ts'
import { finish, identify, newRecord } from '../request/journal.ts'
import { findModel, listModels, pageQuery } from './models.ts'

export function serveModels(
  gateway: Gateway,
  req: IncomingMessage,
  res: ServerResponse,
  requestId: string,
): Promise<void> {
  return answer(gateway, res, newRecord('models', requestId, req), async (record) => {
    const caller = await identify(gateway, req, record, new StoreTime())
    const page = pageQuery(new URLSearchParams(req.url?.split('?')[1]))
    return listModels(gateway.follower.table, caller, page)
  })
}

export function serveModel(
  gateway: Gateway,
  req: IncomingMessage,
  res: ServerResponse,
  requestId: string,
  model: string,
): Promise<void> {
  return answer(gateway, res, newRecord('models', requestId, req), async (record) => {
    const caller = await identify(gateway, req, record, new StoreTime())
    return findModel(gateway.follower.table, caller, model)
  })
}

async function answer(
  gateway: Gateway,
  res: ServerResponse,
  record: RequestRecord,
  make: (record: RequestRecord) => Promise<object>,
): Promise<void> {
  const startedAt = performance.now()
  let told: GatewayError | undefined
  try {
    const body = Buffer.from(JSON.stringify(await make(record)))
    // The request broke meanwhile and was refused.
    if (res.headersSent) return
    sendWhole(res, 200, 'application/json', body, gateway.limits.clientStallMs)
  } catch (error) {
    told = GatewayError.from(error)
    throw told
  } finally {
    finish(gateway, record, told, res.headersSent ? res.statusCode : 0, startedAt)
  }
}
