/** Parses values of arguments. Commander appends the sentence of an InvalidArgumentError to the option's name. */

import { InvalidArgumentError, Option } from 'commander'
import { parseDollars } from '../contract/money.ts'
import { labels as labelsSetting } from '../contract/settings/fields.ts'
import { nearest } from '../kit/nearest.ts'

type Parse<Value> = (given: string, before: Value | undefined) => Value

/** An option with a value. A value that looks like another option must be written --name=-value. */
export function valued<Value>(flags: string, about: string, parse: Parse<Value>): Option {
  return new Option(flags, about).argParser(parse)
}

export function text(given: string): string {
  if (given === '') throw new InvalidArgumentError('It is empty.')
  if (/^--?[a-z]/.test(given)) throw new InvalidArgumentError('It looks like another option.')
  return given
}

/** `name=value` of Kubernetes labels, separated by commas. */
export function labels(given: string): Readonly<Record<string, string>> {
  const { data, error } = labelsText.safeParse(given)
  if (data !== undefined && Object.keys(data).length > 0) return data
  throw new InvalidArgumentError(`It ${error?.issues[0]?.message ?? 'is empty'}.`)
}
const labelsText = labelsSetting()

/** May be given several times. */
export function texts(given: string, before: readonly string[] = []): string[] {
  return [...before, text(given)]
}

export function count(min: number, max: number): Parse<number> {
  return (given) => {
    const value = Number(given)
    if (/^[0-9]+$/.test(given) && value >= min && value <= max) return value
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`)
  }
}

export function choice<Word extends string>(words: readonly Word[]): Parse<Word> {
  return (given) => {
    const word = words.find((known) => known === given)
    if (word !== undefined) return word
    const close = nearest(given, words)
    const hint = close === undefined ? '' : ` Did you mean ${close}?`
    throw new InvalidArgumentError(`It must be one of ${words.join(', ')}.${hint}`)
  }
}

/** Dollars as decimal text, in nano-dollars. */
export function dollars(given: string): number {
  try {
    return parseDollars(given)
  } catch (error) {
    throw new InvalidArgumentError(`It is ${(error as Error).message}.`)
  }
}

/** A day in UTC: `2026-12-31`, `today`, `yesterday`, or so many days ago, as `30d`. */
export function day(given: string): string {
  const ago =
    given === 'today' ? 0 : given === 'yesterday' ? 1 : Number(/^([1-9][0-9]{0,2})d$/.exec(given)?.[1])
  if (!Number.isNaN(ago)) return new Date(Date.now() - ago * UNITS.d).toISOString().slice(0, 10)
  const parsed = /^\d{4}-\d{2}-\d{2}$/.test(given) ? new Date(given) : undefined
  if (parsed === undefined || Number.isNaN(parsed.getTime()) || parsed.toISOString().slice(0, 10) !== given)
    throw new InvalidArgumentError('It must be a day such as 2026-12-31, today, yesterday or 30d.')
  return given
}

/** Some of these words, separated by commas. */
export function choices<Word extends string>(words: readonly Word[]): Parse<Word[]> {
  return (given) => {
    const chosen = given.split(',').filter((word) => word !== '')
    const bad = chosen.find((word) => !words.some((one) => one === word))
    if (bad !== undefined) throw new InvalidArgumentError(`'${bad}' is none of ${words.join(', ')}.`)
    return words.filter((word) => chosen.includes(word))
  }
}

/** Words separated by commas. */
export function list(given: string): string[] {
  return given.split(',').filter((word) => word !== '')
}

/** `requestsPerMinute=10`, added to those before. */
export function limits(given: string, before: Readonly<Record<string, number>> = {}): Record<string, number> {
  const [, name, number] = /^([A-Za-z]+)=([1-9][0-9]{0,12})$/.exec(given) ?? []
  if (name === undefined) throw new InvalidArgumentError('It must be a limit such as requestsPerMinute=10.')
  return { ...before, [name]: Number(number) }
}

/** `5`, `5/Month`, `0.5/Day`. */
export function budgets(given: string): { amount: string; period?: string } {
  const [, amount, period] = /^([0-9]+(?:\.[0-9]+)?)(?:\/([A-Za-z]+))?$/.exec(given) ?? []
  if (amount === undefined) throw new InvalidArgumentError('It must be a budget such as 5/Month.')
  return period === undefined ? { amount } : { amount, period }
}

const UNITS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** `90s`, `15m`, `2h` or `7d`, in ms. */
export function span(given: string): number {
  const [, number, unit] = /^([1-9][0-9]{0,4})([smhd])$/.exec(given) ?? []
  if (number === undefined) throw new InvalidArgumentError('It must be a time such as 90s, 15m, 2h or 7d.')
  return Number(number) * UNITS[unit as keyof typeof UNITS]
}

/** `502`, or a class such as `5xx`. */
export function status(given: string): string {
  if (/^[1-5]([0-9]{2}|xx)$/.test(given)) return given
  throw new InvalidArgumentError('It must be a status such as 502, or a class such as 5xx.')
}

/** Addresses of admin ports, separated by commas. */
export function addresses(given: string, before: readonly string[] = []): string[] {
  const urls = given
    .split(',')
    .map((url) => url.trim())
    .filter((url) => url !== '')
  const bad = urls.find((url) => !/^https?:\/\/./.test(url) || !URL.canParse(url))
  if (bad !== undefined || urls.length === 0)
    throw new InvalidArgumentError(`'${bad ?? given}' is not an address such as http://127.0.0.1:8081.`)
  return [...before, ...urls]
}
