/** The client's names for typed fields, for errors and the header that lists losses. */
import type { LossNames } from '../core/neutral/losses.ts'

export const lossNames: LossNames = {
  turns: 'prompt',
  user: 'user',
}
