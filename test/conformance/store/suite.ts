/** The tests that every store must pass, using only the Store interface. A new store runs them unchanged. */
import { afterEach, beforeEach, describe } from 'vitest'
import { budgetCases } from './budget-cases.ts'
import { configCases } from './config-cases.ts'
import { conversationCases } from './conversation-cases.ts'
import { holdCases } from './hold-cases.ts'
import { ledgerCases } from './ledger-cases.ts'
import { meterCases } from './meter-cases.ts'
import { stateCases } from './state-cases.ts'
import type { CreateStore, Current, StoreUnderTest } from './under-test.ts'
import { usageCases } from './usage-cases.ts'

/** Describes the whole contract for one kind of store. `create` makes an empty one for each test. */
export function storeConformance(name: string, create: CreateStore): void {
  describe(name, () => {
    let current: StoreUnderTest | undefined
    beforeEach(async () => {
      current = await create()
    })
    afterEach(async () => {
      await current?.dispose()
    })
    const use: Current = () => {
      if (current === undefined) throw new Error('no store outside a test')
      return current
    }
    describe('config', () => configCases(use))
    describe('ledger', () => ledgerCases(use))
    describe('holds', () => holdCases(use))
    describe('meters', () => meterCases(use))
    describe('budgets', () => budgetCases(use))
    describe('usage', () => usageCases(use))
    describe('affinity and state', () => stateCases(use))
    describe('conversations', () => conversationCases(use))
  })
}
