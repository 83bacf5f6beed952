/** Changes single values of a JSON body by their path. All other bytes stay unchanged. */
import { elementSpans, removal } from './pieces.ts'
import type { Member } from './scanned-body.ts'
import { scanObject } from './scanner.ts'
import type { Cut, Span } from './splice.ts'

/** Keys and indexes from the top of the body. */
export type Path = readonly (string | number)[]

export interface Change {
  path: Path
  /** JSON text that replaces the value. Absent: the element or member is removed. */
  to?: string
}

/** The cuts that make these changes. A path to no value changes nothing. `body` is valid JSON. */
export function cutsOf(body: Buffer, changes: readonly Change[]): Cut[] {
  return changes.length === 0 ? [] : cutsWithin(body, { start: 0, end: body.length }, changes, 0)
}

/** The spans of the value at a path of keys; several if a key occurs more than once. */
export function spansAt(body: Buffer, keys: readonly string[], span = wholeOf(body)): Span[] {
  const [key, ...rest] = keys
  if (key === undefined) return [span]
  return membersOf(body, span)
    .filter((member) => keyOf(member) === key)
    .flatMap((member) => spansAt(body, rest, member))
}

function cutsWithin(body: Buffer, span: Span, changes: readonly Change[], depth: number): Cut[] {
  const byKey = Map.groupBy(changes, ({ path }) => path[depth])
  return typeof changes[0]?.path[depth] === 'number'
    ? listCuts(body, span, byKey, depth)
    : objectCuts(body, span, byKey, depth)
}

type ByKey = ReadonlyMap<string | number | undefined, readonly Change[]>

function listCuts(body: Buffer, span: Span, byKey: ByKey, depth: number): Cut[] {
  const elements = elementSpans(body, span)
  const removed = new Set<Span>()
  const cuts: Cut[] = []
  for (const [index, changes] of byKey) {
    const element = typeof index === 'number' ? elements[index] : undefined
    if (element === undefined) continue
    const whole = changes.find(({ path }) => path.length === depth + 1)
    if (whole === undefined) cuts.push(...cutsWithin(body, element, changes, depth + 1))
    else if (whole.to === undefined) removed.add(element)
    else cuts.push({ ...element, text: whole.to })
  }
  return [...cuts, ...removals(elements, removed)]
}

/** Removes each run of elements with the comma before it, or the one after it if the run begins the list. */
function removals(elements: readonly Span[], removed: ReadonlySet<Span>): Cut[] {
  const cuts: Cut[] = []
  let kept: Span | undefined
  let first: Span | undefined
  let last: Span | undefined
  const close = (next: Span | undefined) => {
    if (first === undefined || last === undefined) return
    const start = kept?.end ?? first.start
    cuts.push({ start, end: kept === undefined ? (next?.start ?? last.end) : last.end, text: '' })
    first = undefined
  }
  for (const element of elements) {
    if (removed.has(element)) {
      first ??= element
      last = element
    } else {
      close(element)
      kept = element
    }
  }
  close(undefined)
  return cuts
}

/** Replaces every occurrence of a repeated key, so that no reader finds the old value. */
function objectCuts(body: Buffer, span: Span, byKey: ByKey, depth: number): Cut[] {
  const members = membersOf(body, span)
  return [...byKey].flatMap(([key, changes]): Cut[] => {
    const named = members.filter((member) => keyOf(member) === key)
    const whole = changes.find(({ path }) => path.length === depth + 1)
    const last = named.at(-1)
    if (last === undefined) return []
    if (whole === undefined) return cutsWithin(body, last, changes, depth + 1)
    const { to } = whole
    if (to !== undefined) return named.map(({ start, end }) => ({ start, end, text: to }))
    const cut = removal(body, members, last.rawKey, span.start)
    return cut === undefined ? [] : [cut]
  })
}

function membersOf(body: Buffer, { start, end }: Span): Member[] {
  const members = scanObject(body.subarray(start, end))
  return members.map((member) => ({ ...member, start: member.start + start, end: member.end + start }))
}

function keyOf({ rawKey }: Member): string {
  return rawKey.includes('\\') ? String(JSON.parse(`"${rawKey}"`)) : rawKey
}

function wholeOf(body: Buffer): Span {
  return { start: 0, end: body.length }
}
