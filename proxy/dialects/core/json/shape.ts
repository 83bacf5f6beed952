/** Counts the keys and values of parsed JSON, in one walk that its limits bound. */
import type { JsonLimits } from '../request.ts'
import { tooDeep, tooManyKeys, tooManyValues } from './limits.ts'
import { type Fields, isRecord } from './value.ts'

export interface Shape {
  /** Number of keys, at any depth. */
  keys: number
  /** Of each top-level key, in the order of the object: how many keys precede it, at any depth. */
  before: readonly number[]
  /** A key has a backslash. */
  hasBackslash: boolean
}

/** Throws GatewayError invalid_request past a limit. A key that is repeated in an object counts once. */
export function shapeOf(value: Fields, limits: JsonLimits): Shape {
  const walk = new Walk(limits)
  walk.add(value, 1)
  return walk
}

class Walk implements Shape {
  keys = 0
  readonly before: number[] = []
  hasBackslash = false
  /** One for each bracket that opens, and one for each comma. */
  #values = 0
  readonly #limits: JsonLimits

  constructor(limits: JsonLimits) {
    this.#limits = limits
  }

  add(value: object, depth: number): void {
    const { maxDepth, maxKeys, maxValues = Infinity } = this.#limits
    if (depth > maxDepth) throw tooDeep(maxDepth)
    const commas = Array.isArray(value) ? this.#list(value, depth) : this.#object(value, depth)
    this.#values += 1 + Math.max(0, commas)
    if (this.keys > maxKeys) throw tooManyKeys(maxKeys)
    if (this.#values > maxValues) throw tooManyValues(maxValues)
  }

  #list(items: readonly unknown[], depth: number): number {
    for (const item of items) if (isObject(item)) this.add(item, depth + 1)
    return items.length - 1
  }

  #object(value: object, depth: number): number {
    let commas = -1
    // Not Object.entries, which makes a list for each member.
    for (const key in value) {
      if (depth === 1) this.before.push(this.keys)
      this.keys++
      commas++
      if (key.includes('\\')) this.hasBackslash = true
      const member: unknown = value[key as keyof typeof value]
      if (isObject(member)) this.add(member, depth + 1)
    }
    return commas
  }
}

const isObject = (value: unknown): value is object => isRecord(value) || Array.isArray(value)
