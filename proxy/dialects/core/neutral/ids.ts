/** Ids of answers and of their items. */
import { randomInt } from 'node:crypto'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const LENGTH = 24

/** 24 random letters and digits: 142 bits, which cannot be guessed. */
export function newAnswerId(): string {
  let id = ''
  for (let i = 0; i < LENGTH; i++) id += ALPHABET.charAt(randomInt(ALPHABET.length))
  return id
}

/**
 * The id of an answer's item, such as `msg_…`, `fc_…`, `ctc_…`, `rs_…`, `call_…` or `toolu_…`: always the same for the
 * same answer and index, and unique for each index.
 */
export function itemId(prefix: string, answerId: string, index: number): string {
  return `${prefix}_${answerId}${String(index).padStart(2, '0')}`
}

/** The answer id in an item id of the gateway; undefined for an id of another form. */
export function answerIdOf(item: string): string | undefined {
  return ITEM.exec(item)?.[1]
}

const ITEM = new RegExp(`^[a-z]+_([0-9A-Za-z]{${LENGTH}})[0-9]{2,4}$`)
