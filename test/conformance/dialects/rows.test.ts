/** The tables of conversion, one test for each row and target. */
import { describe, expect, it } from 'vitest'
import { GatewayError } from '../../../proxy/errors.ts'
import { convert, minimalRequest, NAMES } from './codecs.ts'
import { misnamed } from './losses.ts'
import { ROWS } from './rows.ts'
import type { Row, Verdict } from './verdicts.ts'

/** Every row with each of its targets. */
const CASES = NAMES.flatMap((source) =>
  ROWS[source].flatMap((row) =>
    NAMES.flatMap((target) => {
      const verdict = row.to[target]
      return verdict === undefined ? [] : [{ source, target, row, verdict }]
    }),
  ),
)

const title = ({ row, verdict }: { row: Row; verdict: Verdict }) =>
  `${row.field}${row.note === undefined ? '' : ` (${row.note})`} is ${verdict.kind}`

describe.each(NAMES)('%s', (source) => {
  it.each(
    CASES.filter((one) => one.source === source).map(
      (one) => [`to ${one.target}: ${title(one)}`, one] as const,
    ),
  )('%s', (_name, { target, row, verdict }) => {
    const body = minimalRequest(source, row.body)
    if (verdict.kind === 'refused') {
      const refusal = thrownBy(() => convert(source, body, target))
      expect(refusal).toBeInstanceOf(GatewayError)
      expect(refusal).toMatchObject({
        code: verdict.code,
        param: expect.stringMatching(startingWith(verdict.param)),
      })
      return
    }
    const converted = convert(source, body, target)
    expect(converted.body).toMatchObject(verdict.body)
    expect(converted.losses).toEqual(verdict.kind === 'lossy' ? verdict.losses : [])
    expect(misnamed(body, converted.losses)).toEqual([])
  })
})

function thrownBy(run: () => unknown): unknown {
  try {
    run()
  } catch (error) {
    return error
  }
  return undefined
}

/** A field, or a field in it. */
const startingWith = (param: string) => new RegExp(`^${param.replace(/[[\]]/g, '\\$&')}(?:$|[.[])`)
