/** The upstream of a request, as the encoders of its parts see it. */
import type { Features } from '../../../../../contract/profiles.ts'
import { GatewayError } from '../../../../errors.ts'
import type { EncodeTarget } from '../../../core/codec.ts'
import type { TypedField } from '../../../core/neutral/losses.ts'
import type { Extended, ModelRequest } from '../../../core/neutral/types.ts'

export interface Target {
  features: Features
  /** The client's name for a field of `owner`, or of the request. */
  name(field: TypedField, owner?: Extended): string
  /** Records that the client's field is dropped or changed. */
  lose(field: TypedField, owner?: Extended): void
  addLoss(name: string): void
}

export function targetOf(request: ModelRequest, { features, losses }: EncodeTarget): Target {
  const name = (field: TypedField, owner?: Extended) => losses.name(field, owner, request)
  const addLoss = (loss: string) => losses.add(loss)
  return { features, name, lose: (field, owner) => addLoss(name(field, owner)), addLoss }
}

/** The error for a field without an equivalent in responses, under the client's name for the field. */
export function unsupported(
  target: Target,
  field: TypedField,
  problem: string,
  owner?: Extended,
): GatewayError {
  const param = target.name(field, owner)
  return new GatewayError('unsupported_parameter', `${param} ${problem}.`, { param })
}
