/** Watches the cost of a stream while it runs, and ends the stream when the balance is used up. */
import { cost, flatCost, type Price } from '../../../contract/money.ts'
import type { Delivered, InputSize } from '../../../contract/sizes.ts'
import { withoutZeros, zeroUsage } from '../../../contract/usage.ts'
import type { EntryNote } from '../../../store/ledger/contract.ts'
import { inputEstimate } from '../../ledger/estimate.ts'
import type { Hold } from '../../ledger/hold.ts'
import { type OutputModel, outputTokens } from '../../ledger/learned.ts'

/** Tokens by which a hold grows at a time. This bounds how much one stream can overspend. */
const QUANTUM_TOKENS = 2_048
/** Output tokens between two checks of the cost. */
const STEP_TOKENS = 32
const EXTEND_AT = 0.8

export interface MeterOptions {
  hold: Hold
  price: Price
  tier: string | undefined
  prompt: InputSize
  learned: OutputModel
  /** The caller named a limit on output tokens, so the hold covers the longest answer. */
  capped: boolean
  /** Of the entry if this process dies; its tokens are those so far. */
  note: EntryNote
  /** Funds are used up: the stream must end now. */
  exhausted(): void
}

export class StreamMeter {
  readonly #options: MeterOptions
  readonly #inputTokens: number
  readonly #quantum: number
  #nextLook = STEP_TOKENS
  #asking = false
  #refused = false

  constructor(options: MeterOptions) {
    this.#options = options
    this.#inputTokens = inputEstimate(options.prompt)
    this.#quantum =
      cost(options.price, { ...zeroUsage(), output: QUANTUM_TOKENS }, options.tier) -
      flatCost(options.price, options.tier)
  }

  /** Call with the totals after each piece that was sent to the client. */
  progress(delivered: Delivered): void {
    const output = outputTokens(delivered, this.#options.learned)
    if (output < this.#nextLook) return
    this.#nextLook = output + STEP_TOKENS
    const { hold, price, tier, capped, note } = this.#options
    const usage = { ...zeroUsage(), input: this.#inputTokens, output }
    const spent = cost(price, usage, tier)
    hold.seen(spent, { ...note, tokens: withoutZeros(usage) })
    if (this.#quantum <= 0 || this.#asking) return
    const over = spent > hold.amount
    if (over && this.#refused) this.#options.exhausted()
    else if (over || (!capped && !this.#refused && spent > hold.amount * EXTEND_AT)) void this.#extend()
  }

  async #extend(): Promise<void> {
    this.#asking = true
    this.#refused = !(await this.#options.hold.extend(this.#quantum))
    this.#asking = false
  }
}
