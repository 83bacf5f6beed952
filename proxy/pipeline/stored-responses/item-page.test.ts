import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { itemPage, itemQuery, upstreamItemQuery } from './item-page.ts'

const ID = `resp_${'A'.repeat(24)}`
const GIVEN = `item_${'A'.repeat(24)}`

interface Page {
  data: { id: string; n: number }[]
  first_id: string | null
  last_id: string | null
  has_more: boolean
}

const parsed = (query: string) => itemQuery(new URLSearchParams(query))
const page = (items: object[], query = '') =>
  itemPage(
    ID,
    items.map((item) => JSON.stringify(item)),
    parsed(query),
  ) as Page
const refused = (param: string) => expect.objectContaining({ code: 'invalid_request', param })

const ITEMS = [{ n: 0, id: 'a' }, { n: 1 }, { n: 2, id: 'c' }]

describe('a page', () => {
  test('has the newest first, and an id for each', () => {
    expect(page(ITEMS)).toEqual({
      object: 'list',
      data: [
        { n: 2, id: 'c' },
        { n: 1, id: `${GIVEN}01` },
        { n: 0, id: 'a' },
      ],
      first_id: 'c',
      last_id: 'a',
      has_more: false,
    })
    expect(page(ITEMS, 'order=desc')).toEqual(page(ITEMS))
  })

  test('has the oldest first on request', () => {
    expect(page(ITEMS, 'order=asc').data.map(({ n }) => n)).toEqual([0, 1, 2])
  })

  test('starts after an item, and ends when it is full', () => {
    expect(page(ITEMS, 'after=c&limit=1')).toMatchObject({
      data: [{ n: 1 }],
      first_id: `${GIVEN}01`,
      last_id: `${GIVEN}01`,
      has_more: true,
    })
    expect(page(ITEMS, `after=${GIVEN}01&limit=1`)).toMatchObject({ data: [{ n: 0 }], has_more: false })
    expect(page(ITEMS, 'after=a')).toMatchObject({ data: [], first_id: null, last_id: null, has_more: false })
  })

  test('has 20 items by default, and 100 at most', () => {
    const many = Array.from({ length: 120 }, (_, n) => ({ n }))
    expect(page(many).data).toHaveLength(20)
    expect(page(many, 'limit=100')).toMatchObject({ has_more: true, data: { length: 100 } })
  })

  test.each(['x', 'A', `${GIVEN}09`, '', 'a'.repeat(1_025)])(
    'after %s, which is not an item, is 400',
    (id) => {
      expect(() => page(ITEMS, `after=${id}`)).toThrow(refused('after'))
    },
  )
})

describe('ids that clients chose', () => {
  test('are kept, unless an earlier item has the same', () => {
    const { data } = page([{ id: 'a' }, { id: 'a' }, { id: '' }, { id: 7 }, { id: 'a' }], 'order=asc')
    expect(data.map(({ id }) => id)).toEqual(['a', `${GIVEN}01`, `${GIVEN}02`, `${GIVEN}03`, `${GIVEN}04`])
  })

  test('may equal the ids that the gateway would give', () => {
    const { data } = page([{ id: `${GIVEN}01` }, {}, { id: `${GIVEN}01_1` }], 'order=asc')
    expect(data.map(({ id }) => id)).toEqual([`${GIVEN}01`, `${GIVEN}01_1`, `${GIVEN}02`])
  })

  test('do not make a pager skip or repeat an item', () => {
    const id = fc.option(
      fc.constantFrom('a', 'b', '', ' ', '{}', `${GIVEN}01`, `${GIVEN}02`, `${GIVEN}01_1`),
      {
        nil: undefined,
      },
    )
    fc.assert(
      fc.property(
        fc.array(id, { maxLength: 12 }),
        fc.integer({ min: 1, max: 5 }),
        fc.constantFrom('asc', 'desc'),
        (ids, limit, order) => {
          const items = ids.map((one, n) => ({ n, id: one }))
          const seen: number[] = []
          for (let after: string | null = null, more = true; more; ) {
            expect(seen.length).toBeLessThanOrEqual(ids.length)
            const query = new URLSearchParams({ limit: `${limit}`, order, ...(after !== null && { after }) })
            const next = page(items, query.toString())
            seen.push(...next.data.map(({ n }) => n))
            after = next.last_id
            more = next.has_more
          }
          const all = ids.map((_, n) => n)
          expect(seen).toEqual(order === 'asc' ? all : all.reverse())
        },
      ),
    )
  })
})

describe('a query', () => {
  test.each([
    ['limit', 'limit=0'],
    ['limit', 'limit=101'],
    ['limit', 'limit=1e1'],
    ['limit', 'limit='],
    ['limit', 'limit=-1'],
    ['order', 'order=up'],
    ['order', 'order='],
    ['include', 'include='],
    ['include', 'include[]=a%20b'],
    ['include', `include=${'a'.repeat(129)}`],
    ['include', 'include=a&'.repeat(33)],
  ])('with a bad %s is 400: %s', (param, query) => {
    expect(() => parsed(query)).toThrow(refused(param))
  })

  test('is forwarded to an upstream as far as its parameters are known', () => {
    const query =
      'x=1&include[]=reasoning.encrypted_content&after=msg_1-2&limit=5&limit=900&order=asc&include=a&stream=1'
    expect(upstreamItemQuery(parsed(query))).toBe(
      'limit=5&order=asc&after=msg_1-2&include%5B%5D=reasoning.encrypted_content&include=a',
    )
    expect(upstreamItemQuery(parsed('x=1'))).toBe('')
  })

  test.each(['a/b', 'a b', 'é', '..%2F', 'a%26limit=1'])('of an upstream has plain ids: %s', (id) => {
    expect(() => upstreamItemQuery(parsed(`after=${id}`))).toThrow(refused('after'))
  })
})
