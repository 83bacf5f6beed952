/** The items that a request adds to its conversation, as the JSON texts of its body. */
import { OPEN_ARRAY, QUOTE } from '../../../../kit/bytes.ts'
import { elementsOf, objectOf } from '../../core/json/pieces.ts'
import type { Member } from '../../core/json/scanned-body.ts'
import { scanObject } from '../../core/json/scanner.ts'
import { spanOf } from '../../core/json/splice.ts'
import { isRecord, tryParse } from '../../core/json/value.ts'
import type { ParsedRequest } from '../../core/request.ts'

const TRIGGER = 'compaction_trigger'

/** The items that become history: all but the trigger of a compaction. */
export function keptItems(request: Pick<ParsedRequest, 'body'>): string[] {
  return inputItems(request).filter((item) => !item.includes(TRIGGER) || typeOf(item) !== TRIGGER)
}

function typeOf(item: string): unknown {
  const value = tryParse(item)
  return isRecord(value) ? value.type : undefined
}

/** JSON texts. A string becomes a user message; an item without a type gets the type that it implies. */
export function inputItems({ body }: Pick<ParsedRequest, 'body'>): string[] {
  const span = spanOf(scanObject(body), 'input')
  if (span === undefined) return []
  const input = body.subarray(span.start, span.end)
  if (input[0] === QUOTE) return [`{"type":"message","role":"user","content":${input.toString('utf8')}}`]
  return input[0] === OPEN_ARRAY ? elementsOf(input).map(withType) : []
}

function withType(item: string): string {
  if (item.startsWith('{"type":"')) return item
  const bytes = Buffer.from(item)
  const members = scanObject(bytes)
  const type = members.find(({ rawKey }) => rawKey === 'type')
  if (type !== undefined && bytes.toString('utf8', type.start, type.end) !== 'null') return item
  const implied = impliedType(members)
  if (implied === undefined) return item
  const others = objectOf(
    bytes,
    members.filter((member) => member !== type),
  )
  return `{"type":"${implied}",${others.slice(1)}`
}

/** A role means a message; an id alone refers to an item. */
function impliedType(members: readonly Member[]): string | undefined {
  const has = (key: string) => members.some(({ rawKey }) => rawKey === key)
  if (has('role')) return 'message'
  return has('id') ? 'item_reference' : undefined
}
