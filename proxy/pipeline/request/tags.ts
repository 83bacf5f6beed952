/** What a request is for, in the client's words: `x-sluice-tag: project=blue,team=a`. */
import type { IncomingMessage } from 'node:http'
import type { Tags } from '../../../store/ledger/contract.ts'
import { GatewayError } from '../../errors.ts'

/** Of a request without tags. */
export const NO_TAGS: Tags = {}

const HEADER = 'x-sluice-tag'
const MOST = 4
const NAME = /^[a-z0-9][a-z0-9._-]{0,31}$/
const VALUE = /^[A-Za-z0-9._/:-]{1,64}$/

/**
 * `allowed`: names of tags; empty: any. Throws GatewayError invalid_request for a header of another form, so that no spending is
 * counted where its owner does not look for it.
 */
export function tagsOf({ headers }: IncomingMessage, allowed: readonly string[]): Tags {
  const given = headers[HEADER]
  if (given === undefined || given === '') return NO_TAGS
  const pairs = String(given)
    .split(',')
    .map((pair) => pair.trim().split('='))
  if (pairs.length > MOST) throw refusal(`It may have at most ${MOST} tags.`)
  const tags: Record<string, string> = {}
  for (const [name = '', value = '', ...more] of pairs) {
    if (!NAME.test(name) || !VALUE.test(value) || more.length > 0)
      throw refusal(
        'Write it as project=blue,team=a: names of at most 32 and values of at most 64 letters and digits.',
      )
    if (Object.hasOwn(tags, name)) throw refusal('It names a tag twice.')
    if (allowed.length > 0 && !allowed.includes(name))
      throw refusal(`Its tags may be: ${allowed.join(', ')}.`)
    tags[name] = value
  }
  return tags
}

const refusal = (why: string) =>
  new GatewayError('invalid_request', `The header ${HEADER} is invalid. ${why}`, { param: HEADER })
