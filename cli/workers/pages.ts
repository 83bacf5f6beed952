/** The pages of the admin port, as the workers answer them. */
import { z } from 'zod'
import { AdminError, type AdminPage } from '../../admin/server.ts'
import type { Member } from './member.ts'

/** A worker that does not answer in this time is busy or stopped. */
export const ANSWER_MS = 2_000

const statusOf = z.looseObject({
  instances: z.array(z.looseObject({ ready: z.boolean(), reason: z.string().optional() })),
})
const explanation = z.looseObject({ notes: z.array(z.string()) })

/** Why the workers together are not ready: the reason of the first one that is not. */
export async function notReady(members: readonly Member[]): Promise<string | undefined> {
  const statuses = await statusesOf(members)
  const first = statuses.findIndex(({ ready }) => !ready)
  return first === -1 ? undefined : `worker ${first + 1}: ${statuses[first]?.reason}`
}

export function workerPages(members: readonly Member[]): Record<string, AdminPage> {
  return {
    '/status': async () => ({ instances: await statusesOf(members) }),
    '/logs': (query) => firstAnswer(members, '/logs', query),
    '/explain': async (query) => {
      const answer = explanation.parse(await firstAnswer(members, '/explain', query))
      const note = `${members.length} workers serve; each counts failures of channels and requests in flight for itself, and one of them has answered`
      return { ...answer, notes: [...answer.notes, note] }
    },
  }
}

/** One entry for each worker, in their order. */
function statusesOf(members: readonly Member[]) {
  return Promise.all(
    members.map(async (member) => {
      const { instance } = member.assignment
      const missing = (reason: string) => ({ role: 'proxy', instance, ready: false, reason })
      if (!member.listens) return missing('starting')
      try {
        const [status] = statusOf.parse(await member.ask('/status', '', ANSWER_MS)).instances
        return status ?? missing('no status')
      } catch (error) {
        if (error instanceof AdminError) return missing(error.message)
        throw error
      }
    }),
  )
}

/** The answer of the first worker that gives one; a refusal of the query is an answer. */
async function firstAnswer(
  members: readonly Member[],
  path: string,
  query: URLSearchParams,
): Promise<unknown> {
  let last = new AdminError(503, 'no worker answers')
  for (const member of members) {
    try {
      return await member.ask(path, query.toString(), ANSWER_MS)
    } catch (error) {
      if (!(error instanceof AdminError) || error.status !== 503) throw error
      last = error
    }
  }
  throw last
}
