/** A store as the conformance suite uses it. */
import type { Store } from '../../../store/contract.ts'

export interface StoreUnderTest {
  store: Store
  /** Lets time pass for the store: moves its clock, or waits. */
  advance(ms: number): Promise<void>
  dispose(): Promise<void>
}

export type CreateStore = () => Promise<StoreUnderTest>

/** The store of the running test. */
export type Current = () => StoreUnderTest
