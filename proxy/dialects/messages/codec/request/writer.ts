import type { Features } from '../../../../../contract/profiles.ts'
import { GatewayError } from '../../../../errors.ts'
import type { EncodeTarget } from '../../../core/codec.ts'
import type { TypedField } from '../../../core/neutral/losses.ts'
import type { Extended, ModelRequest } from '../../../core/neutral/types.ts'

/** State that the parts of the request encoder share. */
export interface Writer {
  features: Features
  /** Each written cache mark, and the client's name for it. */
  marks: Map<unknown, string>
  /** Records that a typed field of `owner`, or of the request, is dropped or weakened. */
  lose(field: TypedField, owner?: Extended): void
  /** Records the loss if `value` is defined. */
  loseIf(field: TypedField, value: unknown): void
  /** The client's name for the field. */
  name(field: TypedField, owner?: Extended): string
  addLoss(name: string): void
  /** The error for a field that must not be dropped. `problem` follows its name. */
  refuse(field: TypedField, problem: string, owner?: Extended): GatewayError
}

export function writerFor(request: ModelRequest, { features, losses }: EncodeTarget): Writer {
  const name = (field: TypedField, owner?: Extended) => losses.name(field, owner, request)
  const lose = (field: TypedField, owner?: Extended) => losses.add(name(field, owner))
  return {
    features,
    marks: new Map(),
    lose,
    name,
    addLoss: (name) => losses.add(name),
    loseIf: (field, value) => {
      if (value !== undefined) lose(field)
    },
    refuse: (field, problem, owner) => {
      const param = name(field, owner)
      return new GatewayError('unsupported_parameter', `${param} ${problem}.`, { param })
    },
  }
}
