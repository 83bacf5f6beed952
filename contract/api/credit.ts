import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { amount, amountWithinLedger, reference } from './fields.ts'
import { defineKind, type Rule } from './kind.ts'
import { READY_COLUMNS, statusOf } from './status.ts'

const spec = z.strictObject({
  accountRef: reference('Account').meta({ description: 'Account to credit.' }),
  amount: amount().meta({
    description: 'Dollars, as decimal text such as "25.00". A negative amount is a debit.',
  }),
  note: z
    .string()
    .max(1024)
    .optional()
    .meta({ description: 'A note for people, such as an invoice number or a reason.' }),
})
export type CreditSpec = z.output<typeof spec>

const status = statusOf({
  appliedAt: z.iso
    .datetime({ offset: true })
    .optional()
    .meta({ description: 'When the ledger applied the credit, or was found to have applied it.' }),
})

const rules: Rule<CreditSpec>[] = [
  amountWithinLedger('amount', (s) => s.amount),
  {
    cel: 'self == oldSelf',
    message: 'a Credit cannot be changed; create another one, with a negative amount to take money back',
    test: (s, old) => old === undefined || isDeepStrictEqual(s, old),
  },
]

export const credit = defineKind({
  kind: 'Credit',
  shortNames: ['slcr'],
  description:
    'Money for an Account, applied once. Its name is its id: deleting or re-creating it moves no money.',
  spec,
  status,
  rules,
  columns: [
    { name: 'Account', jsonPath: '.spec.accountRef.name', type: 'string', description: 'Account credited.' },
    { name: 'Amount', jsonPath: '.spec.amount', type: 'string', description: 'Dollars.' },
    { name: 'Applied', jsonPath: '.status.appliedAt', type: 'date', description: 'When it was applied.' },
    ...READY_COLUMNS,
  ],
  selectableFields: ['.spec.accountRef.name'],
})
