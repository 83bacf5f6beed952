import type { ApiName } from '../../../../../contract/endpoints.ts'
import type { Features } from '../../../../../contract/profiles.ts'
import { GatewayError } from '../../../../errors.ts'
import type { EncodeTarget } from '../../../dialect.ts'
import { lossName, type TypedField } from '../../../ir/losses.ts'
import type { ModelRequest } from '../../../ir/types.ts'

/** What the parts of the request encoder share. */
export interface Writer {
  source: ApiName
  /**
   * The client speaks messages itself. Then it says what it wants in the words of its upstream, and nothing is dropped
   * or made to fit, as in the byte lane.
   */
  own: boolean
  features: Features
  /** Notes that a typed field is dropped or weakened. */
  lose(field: TypedField): void
  /** Notes it when there is something to lose. */
  loseIf(field: TypedField, value: unknown): void
  /** The error for a field that nobody may drop. `problem` follows its name. */
  refuse(field: TypedField, problem: string): GatewayError
}

export function writerFor({ source }: ModelRequest, { features, losses }: EncodeTarget): Writer {
  const lose = (field: TypedField) => losses.add(lossName(source, field))
  return {
    source,
    own: source === 'messages',
    features,
    lose,
    loseIf: (field, value) => {
      if (value !== undefined) lose(field)
    },
    refuse: (field, problem) => {
      const param = lossName(source, field)
      return new GatewayError('unsupported_parameter', `${param} ${problem}.`, { param })
    },
  }
}
