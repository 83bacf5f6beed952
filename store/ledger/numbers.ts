/** Numbers in commands. Others throw RangeError before anything changes. */

/** Also turns -0 into 0: Redis would store "-0". */
export function integer(name: string, value: number): number {
  if (!Number.isSafeInteger(value)) throw new RangeError(`${name} must be a safe integer`)
  return value + 0
}

export function natural(name: string, value: number): number {
  if (integer(name, value) < 0) throw new RangeError(`${name} must not be below zero`)
  return value + 0
}
