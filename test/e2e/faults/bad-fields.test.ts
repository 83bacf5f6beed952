/**
 * Every field of a request replaced by invalid values, for every pair of dialects: the answer is either a 400 that names
 * the field in the client's dialect, or a success because the field does not matter.
 */
import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ENDPOINTS } from '../../../contract/endpoints.ts'
import { isRecord, tryParse } from '../../../proxy/dialects/core/json/value.ts'
import type { DialectName } from '../../fixtures/faults/index.ts'
import { FULL_REQUESTS } from '../../fixtures/faults/requests.ts'
import { type Bench, DIALECTS, KEY, startBench } from './bench.ts'
import { sendAnswer } from './fault.ts'
import { isOfKind, type Mutant, mutantsOf, nameOf, pathsIn, valueAt } from './mutate.ts'
import { errorCode } from './outcome.ts'

const CLIENT_CANARY = 'canary-of-the-client'
const AT_ONCE = 8

/** Fields that only the upstream or the model reads: any value is allowed. */
const UNREAD =
  /schema\.|parameters\.|\.input\.|^logit_bias\.|^metadata\.|reasoning_details|annotations|content\.title/

let bench: Bench

beforeAll(async () => {
  bench = await startBench([{ name: 'fine', play: (context) => sendAnswer(context) }])
})

afterAll(async () => {
  await bench?.stop()
})

interface Outcome {
  status: number
  text: string
  param: string | null
}

async function ask(client: DialectName, upstream: DialectName, body: unknown): Promise<Outcome> {
  const { path } = ENDPOINTS[client]
  const answer = await fetch(bench.gateway.base + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...(isRecord(body) ? body : {}), model: `${upstream}/fine` }),
  })
  const text = await answer.text()
  return { status: answer.status, text, param: paramIn(client, answer.status, text) }
}

/** The field that an error names. Throws if the body is not an error of the dialect. */
function paramIn(client: DialectName, status: number, text: string): string | null {
  if (status === 200) return null
  const body = tryParse(text)
  errorCode(client, body)
  assert(isRecord(body) && isRecord(body.error))
  const { param, message } = body.error
  if (typeof param !== 'string') return null
  assert(String(message).includes(param), `the message does not name ${param}: ${message}`)
  return param
}

/** The problem with the answer to a mutant; undefined without one. */
function complaint(mutant: Mutant, full: unknown, outcome: Outcome, converted: boolean): string | undefined {
  const { status, text, param } = outcome
  const field = nameOf(mutant.path)
  const what = `${field} as ${mutant.kind}`
  // Responses repeat their request, but errors must not quote it.
  if (status !== 200 && text.includes(CLIENT_CANARY)) return `${what}: quoted in ${text}`
  if (status === 200) {
    const wrong =
      converted && !isOfKind(valueAt(full, mutant.path), mutant.replacement) && !UNREAD.test(plain(field))
    return wrong ? `${what}: accepted` : undefined
  }
  if (status !== 400) return `${what}: ${status} ${text}`
  if (param === null) return `${what}: ${text}`
  return isRelated(plain(field), plain(param)) ? undefined : `${what}: error names ${param}`
}

const plain = (path: string) => path.replace(/\[\d+\]/g, '')

/** True if the fields are the same, contain each other or belong to the same object. */
function isRelated(field: string, param: string): boolean {
  // Without its tool a tool choice is invalid.
  if (field.startsWith('tools') && param === 'tool_choice') return true
  const parent = field.split('.').slice(0, -1).join('.')
  return field.startsWith(param) || param.startsWith(parent === '' ? field : parent)
}

async function complaints(client: DialectName, upstream: DialectName): Promise<string[]> {
  const full = FULL_REQUESTS[client]
  const converted = client !== upstream
  // Extremes do not depend on the upstream's dialect: test them with one other dialect only.
  const extremes = upstream === DIALECTS.find((other) => other !== client)
  const queue = mutantsOf(full, extremes)
  const found: string[] = []
  const work = async () => {
    for (let mutant = queue.pop(); mutant !== undefined; mutant = queue.pop()) {
      const outcome = await ask(client, upstream, mutant.body)
      const wrong = complaint(mutant, full, outcome, converted)
      if (wrong !== undefined) found.push(wrong)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return found.sort()
}

const PAIRS = DIALECTS.flatMap((client) => DIALECTS.map((upstream) => [client, upstream] as const))

describe.each(PAIRS)('%s over %s', (client, upstream) => {
  it('accepts the unchanged request', async () => {
    expect(pathsIn(FULL_REQUESTS[client]).length).toBeGreaterThan(90)
    expect(await ask(client, upstream, FULL_REQUESTS[client])).toMatchObject({ status: 200 })
  })

  it('handles every wrong value of every field', async () => {
    expect(await complaints(client, upstream)).toEqual([])
  })
})

it('keeps running and logs no part of a body', () => {
  expect(bench.gateway.child.exitCode).toBeNull()
  expect(bench.gateway.output()).not.toContain(CLIENT_CANARY)
  expect(bench.gateway.output()).not.toMatch(/internal_error|[Uu]nhandled|TypeError|RangeError/)
})
