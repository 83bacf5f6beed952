/** Reads balances from the admin port and settled amounts from the request log. */
import { z } from 'zod'
import { type RunningGateway, until } from './gateway.ts'
import { type Answer, call } from './http.ts'

const statuses = z.array(
  z.object({ kind: z.string(), name: z.string(), status: z.looseObject({ balance: z.string().optional() }) }),
)

/** Nano-dollars of a decimal text; test amounts are small enough for a float. */
export const nanos = (dollars: string) => Math.round(Number(dollars) * 1e9)

/** Balance and holds of an Account, in nano-dollars. */
export async function balanceOf(gateway: RunningGateway, account: string) {
  const { text } = await call(`${gateway.admin}/resources`)
  const found = statuses.parse(JSON.parse(text)).find((s) => s.kind === 'Account' && s.name === account)
  const { balance, held } = z.object({ balance: z.string(), held: z.string() }).parse(found?.status)
  return { balance: nanos(balance), held: nanos(held) }
}

const line = z.object({
  requestId: z.string(),
  account: z.string().optional(),
  outcome: z.string().optional(),
  reason: z.string().optional(),
  settled: z.string().optional(),
  hold: z.string().optional(),
  outputLimit: z.number().optional(),
  flags: z.array(z.string()).optional(),
  usage: z.record(z.string(), z.number()).optional(),
  status: z.number(),
})
export type LoggedRequest = z.output<typeof line>

/** All request log lines so far. */
export const logged = (gateway: RunningGateway) => gateway.requests().map((entry) => line.parse(entry))

/** Waits for an answer's request log line, which is written after the answer, once the request is settled. */
export function lineOf(
  gateway: RunningGateway,
  { headers }: Pick<Answer, 'headers'>,
): Promise<LoggedRequest> {
  const id = headers['x-request-id']
  return until(() => logged(gateway).find(({ requestId }) => requestId === id), 'the request log line')
}

/** The value of a metric without labels. */
export async function metric(gateway: RunningGateway, name: string): Promise<number> {
  const { text } = await call(`${gateway.admin}/metrics`)
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? Number.NaN)
}
