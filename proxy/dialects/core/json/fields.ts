/** Reads the top-level fields that the gateway acts on. Every refusal names its field. */
import { GatewayError } from '../../../errors.ts'
import { type Fields, isRecord } from './value.ts'

export const MAX_MODEL_LENGTH = 256
export const MAX_OUTPUT_TOKENS = 10_000_000

export function refusal(param: string, problem: string): GatewayError {
  return new GatewayError('invalid_request', `${param} ${problem}.`, { param })
}

export function readModel(model: unknown): string {
  if (typeof model !== 'string' || model === '') throw refusal('model', 'must be a non-empty string')
  if (model.length > MAX_MODEL_LENGTH) {
    throw refusal('model', `must have at most ${MAX_MODEL_LENGTH} characters`)
  }
  if (/\p{Cc}/u.test(model) || !model.isWellFormed()) {
    throw refusal('model', 'must not contain control characters or broken Unicode')
  }
  return model
}

/** The value of an optional field; null counts as absent. `rule` completes "must be ..." in the error. */
export function readOptional<T>(
  value: Record<string, unknown>,
  field: string,
  accepts: (value: unknown) => value is T,
  rule: string,
): T | undefined {
  const given = value[field]
  if (given === undefined || given === null) return undefined
  if (!accepts(given)) throw refusal(field, `must be ${rule}, or null`)
  return given
}

/** Checks that an optional field is a list of objects. */
export function checkRecords(value: Fields, field: string): void {
  const list = readOptional(value, field, Array.isArray, 'an array')
  list?.forEach((item: unknown, i: number) => {
    if (!isRecord(item)) throw refusal(`${field}[${i}]`, 'must be an object')
  })
}

export function isBoolean(value: unknown): value is boolean {
  return typeof value === 'boolean'
}

export function isString(value: unknown): value is string {
  return typeof value === 'string'
}

export function isPositiveInteger(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) > 0
}

/** True for a limit on output tokens that a client may set. */
export function isOutputLimit(value: unknown): value is number {
  return isPositiveInteger(value) && value <= MAX_OUTPUT_TOKENS
}

export const OUTPUT_RULE = `an integer from 1 to ${MAX_OUTPUT_TOKENS}`
