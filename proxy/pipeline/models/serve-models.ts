/** GET /v1/models and GET /v1/models/{model}: authenticated like any request, logged, never billed. */
import { type Admission, admit } from '../admission/admit.ts'
import type { Ports } from '../ports.ts'
import { arrivalOf, type HttpRequest, sendWhole } from '../request/client.ts'
import type { AdmittedContext } from '../request/context.ts'
import { findModel, listModels, pageQuery } from './models.ts'

type ModelPorts = Pick<Ports, 'admission' | 'journal' | 'bodies'>

export function serveModels(ports: ModelPorts, http: HttpRequest): Promise<void> {
  return answer(ports, http, ({ follower }, { caller, req }) => {
    const page = pageQuery(new URLSearchParams(req.url?.split('?')[1]))
    return listModels(follower.table, caller, page)
  })
}

export function serveModel(ports: ModelPorts, http: HttpRequest, model: string): Promise<void> {
  return answer(ports, http, ({ follower }, { caller }) => findModel(follower.table, caller, model))
}

function answer(
  { admission, journal, bodies }: ModelPorts,
  http: HttpRequest,
  make: (admission: Admission, ctx: AdmittedContext) => object,
): Promise<void> {
  return journal.run(arrivalOf('models', http), async (arrived) => {
    const ctx = await admit(admission, arrived)
    const body = Buffer.from(JSON.stringify(make(admission, ctx)))
    // The request broke meanwhile and was refused.
    if (!http.res.headersSent) sendWhole(http.res, body, bodies.limits.clientStallMs)
  })
}
