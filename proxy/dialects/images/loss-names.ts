/** The client's names for typed fields, as they stand in the header that names losses and in errors. */
import type { LossNames } from '../core/neutral/losses.ts'

export const lossNames: LossNames = {
  turns: 'prompt',
  user: 'user',
}
