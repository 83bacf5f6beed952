/** Fields that bound what a key or an account may use: rate limits and budgets. */
import { z } from 'zod'
import { DURATION, parseDuration } from '../duration.ts'
import { MAX_GLOB_LENGTH, MAX_GLOB_STARS } from '../glob.ts'
import { amount, amountWithinLedger, duration, MAX_MAP_ENTRIES, price } from './fields.ts'
import type { Rule } from './kind.ts'

const limit = (most: number, description: string) => z.int().min(1).max(most).optional().meta({ description })

const rates = () => ({
  requestsPerMinute: limit(1_000_000_000, 'Requests per minute. As many may come at once.'),
  requestsPerDay: limit(1_000_000_000, 'Requests per day.'),
  tokensPerMinute: limit(
    1_000_000_000_000,
    'Tokens per minute, of prompts and answers. A request is admitted with the most that it may use, and counted with what it used.',
  ),
  tokensPerDay: limit(1_000_000_000_000, 'Tokens per day.'),
  concurrentRequests: limit(1_000_000, 'Requests in flight at once.'),
})

/** Rate and concurrency limits of a key or an account. */
export const limits = () =>
  z.strictObject({
    ...rates(),
    onLimit: z.enum(['Reject', 'Queue']).optional().meta({
      description:
        'What becomes of a request beyond concurrentRequests. Queue: it waits for a place instead of being answered 429. Default: Reject.',
    }),
    queue: z
      .strictObject({
        requests: limit(10_000, 'Requests that may wait in each proxy; default 100.'),
        wait: duration().optional().meta({ description: 'How long one may wait; default 10s, at most 60s.' }),
      })
      .optional()
      .meta({ description: 'Bounds of Queue.' }),
    models: z.record(z.string(), z.strictObject(rates())).optional().meta({
      maxProperties: MAX_MAP_ENTRIES,
      description:
        'The same limits for some models, as the client names them: globs in which `*` matches any characters. All that match apply, beside those above.',
    }),
  })
export type Limits = z.output<ReturnType<typeof limits>>

export const PERIODS = ['Day', 'Week', 'Month'] as const

/** As in the IANA time zone database; the controller checks that it has the zone. */
const TIME_ZONE = /^[A-Za-z][A-Za-z0-9_+-]*(\/[A-Za-z0-9_+-]+){0,2}$/

const dollars = () => price().meta({ description: 'Dollars that may be spent in each period.' })
const period = () =>
  z.enum(PERIODS).optional().meta({
    description:
      'Calendar day, week (from Monday) or month, at whose beginning the budget renews. Default: Month.',
  })

/** Spending that renews, of a key or an account. */
export const budget = () =>
  z.strictObject({
    amount: dollars().optional(),
    period: period(),
    timeZone: z
      .string()
      .max(64)
      .regex(TIME_ZONE, 'must be the name of a time zone, such as Europe/Berlin')
      .optional()
      .meta({ description: 'Time zone in which periods begin, such as Europe/Berlin. Default: UTC.' }),
    softLimit: z.array(z.int().min(1).max(100)).max(8).optional().meta({
      description: 'Percentages of the budget at which a warning is given. Default: 80 and 95.',
    }),
    models: z
      .record(z.string(), z.strictObject({ amount: dollars(), period: period() }))
      .optional()
      .meta({
        maxProperties: MAX_MAP_ENTRIES,
        description:
          'Budgets for some models, as the client names them: globs in which `*` matches any characters. All that match apply, beside the one above.',
      }),
  })
export type BudgetFields = z.output<ReturnType<typeof budget>>

/** Budgets in a status. */
export const budgetStatuses = () =>
  z
    .array(
      z.strictObject({
        model: z
          .string()
          .max(MAX_GLOB_LENGTH)
          .optional()
          .meta({ description: 'The models that it is for; absent: all.' }),
        amount: amount().meta({ description: 'Dollars that may be spent in the period.' }),
        spent: amount().meta({ description: 'Dollars spent in the period.' }),
        renewsAt: z.iso.datetime({ offset: true }).meta({ description: 'When the next period begins.' }),
      }),
    )
    .max(MAX_MAP_ENTRIES + 1)
    .optional()
    .meta({ description: 'What was spent in the current period of each budget.' })

const GLOB = `^[^*]*(\\*[^*]*){0,${MAX_GLOB_STARS}}$`

/** The longest wait for a place: shorter than clients wait for an answer. */
const MOST_WAIT = '60s'

/** Rules on `limits`: on its queue, and on its models. */
export function limitRules<Spec>(read: (spec: Spec) => Limits | undefined): Rule<Spec>[] {
  const queue = 'has(self.limits) && has(self.limits.queue)'
  return [
    {
      cel: `!(${queue}) || (has(self.limits.onLimit) && self.limits.onLimit == 'Queue')`,
      message: 'spec.limits.queue needs spec.limits.onLimit: Queue',
      test: (spec) => read(spec)?.queue === undefined || read(spec)?.onLimit === 'Queue',
    },
    {
      cel: `!(${queue}) || !has(self.limits.queue.wait) || !self.limits.queue.wait.matches(r"${DURATION.source}") || duration(self.limits.queue.wait) <= duration("${MOST_WAIT}")`,
      message: `spec.limits.queue.wait must be at most ${MOST_WAIT}`,
      test: (spec) => {
        const wait = read(spec)?.queue?.wait ?? MOST_WAIT
        return !DURATION.test(wait) || parseDuration(wait) <= parseDuration(MOST_WAIT)
      },
    },
    ...modelRules<Spec>('limits', (spec) => read(spec)?.models),
  ]
}

/** Rules on `budget`: on its amount, and on its models. */
export function budgetRules<Spec>(read: (spec: Spec) => BudgetFields | undefined): Rule<Spec>[] {
  return [
    {
      cel: '!has(self.budget) || has(self.budget.amount) || has(self.budget.models)',
      message: 'spec.budget needs an amount, or models that have one',
      test: (spec) => {
        const own = read(spec)
        return own === undefined || own.amount !== undefined || own.models !== undefined
      },
    },
    amountWithinLedger('budget.amount', (spec) => read(spec)?.amount),
    ...modelRules<Spec>('budget', (spec) => read(spec)?.models),
  ]
}

/** Rules on the models of `field`, which the schema of a map cannot have. */
function modelRules<Spec>(field: string, read: (spec: Spec) => object | undefined): Rule<Spec>[] {
  const has = `has(self.${field}) && has(self.${field}.models)`
  const names = (spec: Spec) => Object.keys(read(spec) ?? {})
  return [
    {
      cel: `!(${has}) || self.${field}.models.size() <= ${MAX_MAP_ENTRIES}`,
      message: `spec.${field}.models may have at most ${MAX_MAP_ENTRIES} entries`,
      test: (spec) => names(spec).length <= MAX_MAP_ENTRIES,
    },
    {
      cel: `!(${has}) || self.${field}.models.all(m, m.size() >= 1 && m.size() <= ${MAX_GLOB_LENGTH} && m.matches(r"${GLOB}"))`,
      message: `spec.${field}.models must name models with 1 to ${MAX_GLOB_LENGTH} characters and at most ${MAX_GLOB_STARS} stars`,
      test: (spec) =>
        names(spec).every(
          (model) =>
            model.length >= 1 &&
            model.length <= MAX_GLOB_LENGTH &&
            model.split('*').length - 1 <= MAX_GLOB_STARS,
        ),
    },
  ]
}
