/** /v1/usage: what a key has used, and what is left for it. */
import { z } from 'zod'
import { JSON_TYPE, type Operation } from './operation.ts'
import { errorShape, named } from './schemas.ts'

const dollars = () => z.string().regex(/^-?[0-9]+(\.[0-9]{1,9})?$/)
const whose = z.enum(['key', 'account'])
const date = () => z.iso.date()

const usage = z
  .strictObject({
    object: z.literal('usage'),
    key: z.string().describe('Name of the key.'),
    expires_at: z.iso.datetime().exactOptional(),
    account: z.string().exactOptional(),
    balance: dollars()
      .exactOptional()
      .describe('Absent where the key has no account, or a budget is its allowance.'),
    held: dollars().exactOptional().describe('Held by requests in flight.'),
    budgets: z.array(
      z.strictObject({
        of: whose,
        model: z.string().exactOptional().describe('The models that it is for; absent: all.'),
        amount: dollars(),
        spent: dollars(),
        left: dollars(),
        period: z.enum(['day', 'week', 'month']),
        renews_at: z.iso.datetime(),
      }),
    ),
    limits: z.array(
      z.strictObject({
        of: whose,
        kind: z.enum(['requests', 'tokens', 'concurrent']),
        model: z.string().exactOptional(),
        limit: z.int(),
        window_seconds: z.int().exactOptional().describe('Absent for requests at a time.'),
        left: z.int(),
      }),
    ),
    models: z.array(z.string()).describe('Models that the key may use.'),
    since: date(),
    until: date(),
    days: z.array(
      z.strictObject({
        date: date(),
        model: z.string(),
        requests: z.int(),
        errors: z.int().describe('Requests that no upstream served.'),
        cost: dollars(),
        tokens: z.record(z.string(), z.int()).describe('By kind, without those that are zero.'),
      }),
    ),
  })
  .register(named, { id: 'Usage' })

const day = (name: string, description: string) =>
  ({ name, in: 'query', description, schema: z.iso.date() }) as const

export const usageOperations: Operation[] = [
  {
    method: 'get',
    tag: 'Usage',
    family: 'either',
    path: '/v1/usage',
    id: 'getUsage',
    summary: 'What the key has used, and what is left',
    description: 'Works with an empty balance. Days are those of UTC.',
    parameters: [
      errorShape,
      day('since', 'First day; 30 days before the last one by default.'),
      day('until', 'Last day; today by default. Of more than 92 days the last ones are shown.'),
    ],
    answers: {
      200: { description: 'Money, limits, models, and each day by model.', content: { [JSON_TYPE]: usage } },
    },
    codes: ['store_unavailable'],
  },
]
