import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { goldenCases, renderCase } from './testdata.ts'

describe('goldens of compile', () => {
  const cases = goldenCases()

  it('has a dozen cases', () => {
    expect(cases.length).toBeGreaterThanOrEqual(12)
  })

  it.each(cases)('$name', (golden) => {
    expect(renderCase(golden)).toBe(readFileSync(golden.golden, 'utf8'))
  })

  it.each(cases)('$name quotes no Secret', (golden) => {
    // Every secret value of the cases ends like this, so that a leak is found whatever it came through.
    expect(golden.input.includes('kind: Secret')).toBe(golden.input.includes('-not-to-be-seen'))
    expect(renderCase(golden)).not.toContain('-not-to-be-seen')
  })
})
