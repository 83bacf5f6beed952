/** Breaks JSON and streams in one place, as broken upstreams and clients do. */
import fc from 'fast-check'
import { isRecord, tryParse } from '../../../proxy/dialects/core/json/value.ts'
import { type SpecEvent, specEvents, writeEvents } from './sse.ts'

/** Values of wrong types. */
const ODD: fc.Arbitrary<unknown> = fc.constantFrom<unknown>(
  null,
  true,
  0,
  -1,
  1.5,
  1e21,
  '',
  'odd',
  [],
  [null],
  [[]],
  {},
  { type: 'odd' },
  [{ type: 'odd' }],
  undefined,
)

type Path = (string | number)[]

function pathsOf(value: unknown, at: Path = []): Path[] {
  const entries: [string | number, unknown][] = Array.isArray(value)
    ? value.map((item, index) => [index, item])
    : Object.entries(isRecord(value) ? value : {})
  return entries.flatMap(([key, inner]) => [[...at, key], ...pathsOf(inner, [...at, key])])
}

/** A copy with another value at the path; `undefined` removes the member. */
function put(value: unknown, [key, ...rest]: Path, odd: unknown): unknown {
  if (key === undefined) return odd
  if (Array.isArray(value)) return value.map((item, index) => (index === key ? put(item, rest, odd) : item))
  if (!isRecord(value)) return value
  return { ...value, [key]: put(value[key], rest, odd) }
}

/** The value with one member, at any depth, replaced or removed. */
export function spoiled(value: unknown): fc.Arbitrary<unknown> {
  const paths = pathsOf(value)
  if (paths.length === 0) return ODD
  return fc.tuple(fc.constantFrom(...paths), ODD).map(([path, odd]) => put(value, path, odd))
}

/** The stream with one event broken, removed, repeated, moved or cut. */
export function spoiledStream(text: string): fc.Arbitrary<string> {
  const events = specEvents(text)
  const at = fc.nat({ max: events.length - 1 })
  const change = (index: number, ...others: SpecEvent[]) =>
    writeEvents([...events.slice(0, index), ...others, ...events.slice(index + 1)])
  return fc.oneof(
    {
      weight: 6,
      arbitrary: at.chain((index) => {
        const { event = '', data = '' } = events[index] ?? {}
        if (!isRecord(tryParse(data))) return fc.constant(change(index))
        return spoiled(JSON.parse(data)).map((odd) =>
          change(index, { event, data: JSON.stringify(odd) ?? '' }),
        )
      }),
    },
    { weight: 1, arbitrary: at.map((index) => change(index)) },
    { weight: 1, arbitrary: at.map((index) => change(index, ...twice(events[index]))) },
    { weight: 1, arbitrary: at.map((index) => change(index, ...cut(events[index]))) },
    { weight: 1, arbitrary: at.map((index) => moved(events, index)) },
  )
}

const twice = (event: SpecEvent | undefined) => (event === undefined ? [] : [event, event])
const cut = (event: SpecEvent | undefined) =>
  event === undefined ? [] : [{ ...event, data: event.data.slice(0, event.data.length >> 1) }]

function moved(events: readonly SpecEvent[], index: number): string {
  const [one] = events.slice(index, index + 1)
  const others = events.filter((_, i) => i !== index)
  return writeEvents(
    one === undefined ? others : [...others.slice(0, index + 1), one, ...others.slice(index + 1)],
  )
}
