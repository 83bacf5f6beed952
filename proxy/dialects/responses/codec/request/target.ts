/** Where a request is written to, as the writers of its pieces see it. */
import type { Features } from '../../../../../contract/profiles.ts'
import { GatewayError } from '../../../../errors.ts'
import type { EncodeTarget } from '../../../dialect.ts'
import { lossName, type TypedField } from '../../../ir/losses.ts'
import type { ApiName, ModelRequest } from '../../../ir/types.ts'

export interface Target {
  /** The client spoke this dialect too: everything is written as it was, whatever the upstream can do. */
  same: boolean
  source: ApiName
  features?: Features
  /** Notes that the client's field is dropped. */
  lose(field: TypedField): void
}

/** For writing what was just read, to see how it differs. */
export const SAME: Target = { same: true, source: 'responses', lose: () => {} }

export function targetOf(request: ModelRequest, { features, losses }: EncodeTarget): Target {
  const { source } = request
  const same = source === 'responses'
  return { same, source, features, lose: (field) => losses.add(lossName(source, field)) }
}

/** The refusal of what responses cannot say, under the client's name for it. */
export function unsupported(source: ApiName, field: TypedField, problem: string): GatewayError {
  const param = lossName(source, field)
  return new GatewayError('unsupported_parameter', `${param} ${problem}.`, { param })
}
