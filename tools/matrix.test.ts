import { describe, expect, it } from 'vitest'
import { differences, matrixPage, type Observation, parseObservations } from './matrix.ts'

const exact: Observation = {
  client: 'chat',
  upstream: 'messages',
  feature: 'tools',
  by: 'recording',
  result: 'exact',
}
const lossy: Observation = { ...exact, by: 'sdk', result: 'lossy', losses: ['tools.strict', 'seed'] }

/** The row of a feature in the table of chat clients. */
const row = (page: string, feature: string) =>
  page.split('\n').find((line) => line.startsWith(`| ${feature} |`))

describe('page', () => {
  it('shows an empty cell for what no test observed', () => {
    expect(row(matrixPage([]), 'tools')).toBe('| tools |  |  |  |')
  })

  it('puts a cell in brackets until an SDK and another source observed it', () => {
    expect(row(matrixPage([exact]), 'tools')).toBe('| tools |  |  | [exact R] |')
    expect(row(matrixPage([{ ...exact, by: 'sdk' }]), 'tools')).toBe('| tools |  |  | [exact S] |')
    expect(row(matrixPage([exact, { ...exact, by: 'sdk' }]), 'tools')).toBe('| tools |  |  | exact SR |')
  })

  it('shows the worst result with the losses of all', () => {
    const more: Observation = { ...lossy, losses: ['logprobs', 'seed'] }
    const text = '| tools |  |  | lossy (`logprobs`, `seed`, `tools.strict`) SR |'
    expect(row(matrixPage([exact, lossy, more]), 'tools')).toBe(text)
    expect(row(matrixPage([more, lossy, exact]), 'tools')).toBe(text)
  })

  it('has a table for each client dialect', () => {
    const page = matrixPage([{ ...exact, client: 'messages' }])
    expect(page.match(/^## Clients of \w+$/gm)).toHaveLength(3)
    expect(page.slice(page.indexOf('## Clients of messages'))).toContain('[exact R]')
  })
})

describe('differences', () => {
  it('are none between a page and its observations', () => {
    expect(differences(matrixPage([exact, lossy]), [lossy, exact], false)).toEqual([])
  })

  it('are a cell that became worse, and one that no test observes any more', () => {
    expect(differences(matrixPage([exact]), [lossy], false)).toHaveLength(1)
    expect(differences(matrixPage([exact]), [], false)).toEqual([
      'chat>messages>tools: the page says "[exact R]", no test observed it',
    ])
  })

  it('are, in a partial run, only what contradicts the page', () => {
    const page = matrixPage([exact, lossy])
    expect(differences(page, [], true)).toEqual([])
    expect(differences(page, [exact], true)).toEqual([])
    expect(differences(page, [{ ...lossy, losses: ['seed'] }], true)).toEqual([])
    expect(differences(page, [{ ...lossy, losses: ['top_k'] }], true)).toHaveLength(1)
    expect(differences(page, [{ ...exact, by: 'third-party' }], true)).toHaveLength(1)
    expect(differences(matrixPage([exact]), [lossy], true)).toHaveLength(1)
  })

  it('are a page whose text was edited', () => {
    expect(differences(`${matrixPage([exact])}more`, [exact], false)).toEqual([
      'the text of the page differs',
    ])
  })
})

it('reads one observation per line and refuses unknown words', () => {
  expect(parseObservations(`${JSON.stringify(lossy)}\n${JSON.stringify(exact)}\n`)).toEqual([lossy, exact])
  expect(() => parseObservations(JSON.stringify({ ...exact, feature: 'telepathy' }))).toThrow('telepathy')
})
