import { z } from 'zod'
import { amount, amountWithinLedger, price, reference } from './fields.ts'
import { defineKind, type Rule } from './kind.ts'
import { budget, budgetRules, budgetStatuses, limitRules, limits } from './limits.ts'
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
  budget: budget()
    .optional()
    .meta({
      description:
        'How much may be spent in each period, by all keys together. Of a sub-account the allowance, which renews; else a cap, also on ' +
        'an Unlimited account.',
    }),
  lowBalance: z.array(price()).max(8).optional().meta({
    description: 'Balances, in dollars, below which a warning is given.',
  }),
  metrics: z.boolean().optional().meta({
    description:
      'Shows balance and budgets as metrics. Metrics of at most 1,000 accounts are shown, in the order of their names.',
  }),
})
export type AccountSpec = z.output<typeof spec>

const status = statusOf({
  balance: amount().optional().meta({ description: 'Dollars credited minus dollars spent.' }),
  held: amount().optional().meta({ description: 'Dollars held by requests in flight.' }),
  spent: amount().optional().meta({ description: 'Dollars spent so far.' }),
  credited: amount().optional().meta({ description: 'Dollars credited so far.' }),
  budgets: budgetStatuses(),
})

const rules: Rule<AccountSpec>[] = [
  amountWithinLedger('overdraft', (s) => s.overdraft),
  ...limitRules<AccountSpec>((s) => s.limits),
  ...budgetRules<AccountSpec>((s) => s.budget),
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
