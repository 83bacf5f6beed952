/** Reads a price list in the format that LiteLLM publishes (model_prices_and_context_window.json). */
import { readFile } from 'node:fs/promises'
import { text as readAll } from 'node:stream/consumers'
import { z } from 'zod'
import { CommandFailure } from '../command.ts'
import { type Decimal, decimalOf } from './decimal.ts'

/** A number of the file as it is written: a float would change it. */
class NumberText {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** One model of the list. */
export interface Listed {
  name: string
  /** What the model is for: chat, embedding, image_generation and so on. */
  mode: string | undefined
  /** Fields that are numbers, by name: dollars per token or per call, and others. */
  numbers: ReadonlyMap<string, Decimal>
  /** Other fields whose name says that they are about prices. */
  others: readonly string[]
}

/** By name of the model. */
export type PriceList = ReadonlyMap<string, Listed>

/** Describes the fields; its values are text and its numbers are all 0. */
const SAMPLE = 'sample_spec'
/** Names of fields that may change what a request costs. */
export const ABOUT_PRICES = /cost|pric|uplift|multiplier|provider_specific_entry/
/** Fields that must be numbers where they are present. */
const COST = /^(?:input|output|cache_creation_input|cache_read_input)_(?:cost|token_cost)/

const entry = z.looseObject({ mode: z.string().optional() })
const file = z.record(z.string(), z.unknown())

/** Throws CommandFailure, with the entry and the field, for a file that is no such list. `-` is standard input. */
export async function readPriceList(path: string): Promise<PriceList> {
  const content = await (path === '-' ? readAll(process.stdin) : readFile(path, 'utf8')).catch(
    (error: NodeJS.ErrnoException) => {
      throw new CommandFailure(`${path} cannot be read (${error.code ?? 'error'})`)
    },
  )
  return parsePriceList(content, path)
}

/** `path` names the file in messages. Throws CommandFailure as readPriceList does. */
export function parsePriceList(content: string, path: string): PriceList {
  const parsed = file.safeParse(jsonOf(content, path))
  if (!parsed.success) throw new CommandFailure(`${path} is not a price list: it must be one JSON object`)
  const list = new Map<string, Listed>()
  for (const [name, value] of Object.entries(parsed.data))
    if (name !== SAMPLE) list.set(name, listed(name, value, path))
  if (list.size === 0) throw new CommandFailure(`${path} is not a price list: it names no model`)
  return list
}

function jsonOf(content: string, path: string): unknown {
  try {
    return JSON.parse(content, (_key, value: unknown, context?: { source?: string }) =>
      typeof value === 'number' ? new NumberText(context?.source ?? String(value)) : value,
    )
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new CommandFailure(`${path} is not JSON`)
  }
}

function listed(name: string, value: unknown, path: string): Listed {
  const quoted = JSON.stringify(name)
  const parsed = entry.safeParse(value instanceof NumberText ? undefined : value)
  if (!parsed.success) {
    const what = parsed.error.issues[0]?.path[0] === 'mode' ? 'mode must be text' : 'it must be an object'
    throw new CommandFailure(`${path}: entry ${quoted}: ${what}`)
  }
  const numbers = new Map<string, Decimal>()
  const others: string[] = []
  for (const [field, given] of Object.entries(parsed.data)) {
    if (given === null || given === undefined) continue
    const number = given instanceof NumberText ? decimalOf(given.text) : undefined
    if (number !== undefined) numbers.set(field, number)
    else if (COST.test(field))
      throw new CommandFailure(
        `${path}: entry ${quoted}: ${JSON.stringify(field)} must be a number, not below 0`,
      )
    else if (ABOUT_PRICES.test(field)) others.push(field)
  }
  return { name, mode: parsed.data.mode, numbers, others }
}
