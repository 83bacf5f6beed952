import type { Features } from '../../../contract/features.ts'
import { GatewayError } from '../../errors.ts'
import type { EncodeTarget } from './codec.ts'
import type { TypedField } from './neutral/typed-field.ts'
import type { Extended } from './neutral/types.ts'

/** The upstream of a request, as the encoders of its parts see it. */
export interface Writer {
  features: Features
  /** The client's name for a typed field of `owner`, or of the request. */
  name(field: TypedField, owner?: Extended): string
  /** Records that the field is dropped or changed. */
  lose(field: TypedField, owner?: Extended): void
  /** Records the loss if `value` is defined. */
  loseIf(field: TypedField, value: unknown): void
  /** Records a loss by the client's name for it. */
  addLoss(name: string): void
  /** The error for a field that must not be dropped. `problem` follows its name. */
  refuse(field: TypedField, problem: string, owner?: Extended): GatewayError
}

export function writerFor(
  request: Extended,
  { features, losses }: Pick<EncodeTarget, 'features' | 'losses'>,
): Writer {
  const name = (field: TypedField, owner?: Extended) => losses.name(field, owner, request)
  const lose = (field: TypedField, owner?: Extended) => losses.add(name(field, owner))
  return {
    features,
    name,
    lose,
    loseIf: (field, value) => {
      if (value !== undefined) lose(field)
    },
    addLoss: (loss) => losses.add(loss),
    refuse: (field, problem, owner) => {
      const param = name(field, owner)
      return new GatewayError('unsupported_parameter', `${param} ${problem}.`, { param })
    },
  }
}
