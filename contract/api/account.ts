import { z } from 'zod'
import { amount, amountWithinLedger, limitRules, limits, price, reference } from './fields.ts'
import { defineKind, type Rule } from './kind.ts'
import { READY_COLUMNS, statusOf } from './status.ts'

const spec = z.strictObject({
  parent: reference('parent Account')
    .optional()
    .meta({
      description:
        'Makes this a sub-account of another one in this namespace: the parent pays, and the own balance, raised by Credits, is ' +
        'an allowance. Spending lowers both, and either is enough to refuse a request. Two levels.',
    }),
  disabled: z
    .boolean()
    .optional()
    .meta({ description: 'Keys of a disabled account, and of its sub-accounts, are answered 403.' }),
  overdraft: price().optional().meta({ description: 'How far the balance may fall below zero, in dollars.' }),
  enforcement: z.enum(['Enforced', 'Unlimited']).default('Enforced').meta({
    description:
      'Unlimited: spending is counted, but requests are never refused. A sub-account has the setting of its parent.',
  }),
  limits: limits()
    .optional()
    .meta({ description: 'Limits for all keys of this account, and of its sub-accounts, together.' }),
  budget: z
    .strictObject({
      amount: price().meta({ description: 'Not enforced yet. Dollars available in each period.' }),
      period: z
        .enum(['Day', 'Week', 'Month'])
        .meta({ description: 'Not enforced yet. Calendar period, UTC.' }),
    })
    .optional()
    .meta({
      description: 'Not enforced yet: an account with a budget is not accepted. A renewing allowance.',
    }),
})
export type AccountSpec = z.output<typeof spec>

const status = statusOf({
  balance: amount().optional().meta({ description: 'Dollars credited minus dollars spent.' }),
  held: amount().optional().meta({ description: 'Dollars held by requests in flight.' }),
  spent: amount().optional().meta({ description: 'Dollars spent so far.' }),
  credited: amount().optional().meta({ description: 'Dollars credited so far.' }),
})

const rules: Rule<AccountSpec>[] = [
  amountWithinLedger('overdraft', (s) => s.overdraft),
  amountWithinLedger('budget.amount', (s) => s.budget?.amount),
  ...limitRules<AccountSpec>((s) => s.limits),
]

export const account = defineKind({
  kind: 'Account',
  shortNames: ['acct'],
  description:
    'A payer: a balance that Credits raise and requests lower. With a parent, an allowance of that account.',
  spec,
  specOptional: true,
  status,
  rules,
  columns: [
    { name: 'Balance', jsonPath: '.status.balance', type: 'string', description: 'Dollars left.' },
    { name: 'Spent', jsonPath: '.status.spent', type: 'string', description: 'Dollars spent.' },
    {
      name: 'Parent',
      jsonPath: '.spec.parent.name',
      type: 'string',
      description: 'Parent account.',
      priority: 1,
    },
    ...READY_COLUMNS,
  ],
  selectableFields: ['.spec.parent.name'],
})
