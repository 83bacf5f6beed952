import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type PublishedTable, TABLE_VERSION } from '../../contract/table/records.ts'
import { partsOf, tableText } from './table-text.ts'

// Node 24 reads the key "\"" as "\\" once it has read that one in an object of the same shape, so none begins with a backslash.
const text = fc
  .oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom('\n {}', '"', '__proto__', '\u2028'))
  .filter((one) => !one.startsWith('\\'))
const record = fc.record({ name: text, on: fc.array(text), weight: fc.integer() }, { requiredKeys: ['name'] })
const namespace = fc.record({ routes: fc.array(record), channels: fc.dictionary(text, record) })
/** Tables of any records: the text does not depend on what they hold. */
const published = fc
  .record({ epoch: fc.nat(), generation: fc.nat(), namespaces: fc.dictionary(text, namespace) })
  .map(
    ({ epoch, generation, namespaces }) =>
      ({ epoch, generation, table: { version: TABLE_VERSION, namespaces } }) as unknown as PublishedTable,
  )

test('the text is the JSON of the document', () => {
  fc.assert(
    fc.property(published, (document) => {
      expect(JSON.stringify(JSON.parse(tableText(document)))).toBe(JSON.stringify(document))
    }),
  )
})

test('each route and each channel is a part of its own, in the order of the document', () => {
  fc.assert(
    fc.property(published, (document) => {
      const namespaces = Object.values(document.table.namespaces)
      const records = namespaces.flatMap(({ routes, channels }) => [...routes, ...Object.values(channels)])
      const { texts } = partsOf(tableText(document))
      expect(texts.map((one) => JSON.stringify(JSON.parse(one)))).toEqual(
        records.map((one) => JSON.stringify(one)),
      )
    }),
  )
})

test('a document without lines is its own outline', () => {
  fc.assert(
    fc.property(published, (document) => {
      const { outline, texts } = partsOf(JSON.stringify(document))
      expect([JSON.stringify(outline), texts]).toEqual([JSON.stringify(document), []])
    }),
  )
})
