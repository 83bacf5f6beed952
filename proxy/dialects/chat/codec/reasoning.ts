/**
 * Reasoning in chat: `reasoning_content` (or `reasoning`) is plain text; `reasoning_details` and `thinking_blocks` carry
 * opaque state of the vendor.
 */

import { listAt, optional, recordAt, stringAt } from '../../core/json/checks.ts'
import { type Fields, isRecord, isText, textOf, tryParse } from '../../core/json/value.ts'
import type { Carrier, Envelopes, Names, ReasoningPart } from '../../core/neutral/types.ts'
import type * as wire from '../wire.ts'

export const REASONING_FIELDS = ['reasoning_content', 'reasoning', 'reasoning_details', 'thinking_blocks']
/** Separates paragraphs that are joined into one text. */
export const PARAGRAPH = '\n\n'

interface Entry {
  text?: string
  raw?: boolean
  /** `own`: only chat upstreams understand it; the whole entry is the carrier. */
  carrier?: Carrier | 'broken' | 'own'
  entry: Fields
}

/** Reads the thoughts that a client sends back. Throws GatewayError for malformed fields. */
export function decodeReasoning(message: Fields, path: string, envelopes: Envelopes): ReasoningPart[] {
  const content = optional(message.reasoning_content, `${path}.reasoning_content`, stringAt)
  const plain = optional(message.reasoning, `${path}.reasoning`, stringAt)
  const text = content || plain || undefined
  const details = records(message.reasoning_details, `${path}.reasoning_details`)
  const blocks = records(message.thinking_blocks, `${path}.thinking_blocks`)
  const listed = details.length > 0 ? 'reasoning_details' : 'thinking_blocks'
  const entries =
    details.length > 0
      ? details.map((entry) => readDetail(entry, envelopes))
      : blocks.map((block) => readBlock(block, envelopes))
  const names: Names = {
    ...(details.length === 0 && blocks.length > 0 && { 'reasoning.state': 'messages.thinking_blocks' }),
    ...(!content && { reasoning: plain ? 'messages.reasoning' : `messages.${listed}` }),
  }
  const parts = toParts(entries, text)
  return Object.keys(names).length === 0 ? parts : parts.map((part) => ({ ...part, names }))
}

function records(value: unknown, path: string): Fields[] {
  return (optional(value, path, listAt) ?? []).map((item, i) => recordAt(item, `${path}[${i}]`))
}

function readDetail(entry: Fields, envelopes: Envelopes): Entry {
  const format = textOf(entry.format)
  if (entry.type === 'reasoning.summary') return { entry, ...written(entry.summary), raw: false }
  if (entry.type === 'reasoning.text') {
    const carrier = opened(entry.signature, envelopes, (value) =>
      format === '' || format.includes('anthropic')
        ? { dialect: 'messages', kind: 'signature', value }
        : 'own',
    )
    return { entry, ...written(entry.text), ...carrier }
  }
  const carrier = opened(entry.data, envelopes, (value) => {
    if (/openai|responses/.test(format)) {
      const id = typeof entry.id === 'string' ? { id: entry.id } : {}
      return { dialect: 'responses', kind: 'encrypted', value, ...id }
    }
    return format.includes('anthropic') ? { dialect: 'messages', kind: 'redacted', value } : 'own'
  })
  return { entry, carrier: 'own', ...carrier }
}

/** Reads a block of the messages API, as LiteLLM's clients send them. */
function readBlock(entry: Fields, envelopes: Envelopes): Entry {
  const messagesCarrier = (kind: string) => (value: string) => ({ dialect: 'messages', kind, value }) as const
  if (entry.type === 'redacted_thinking')
    return { entry, ...opened(entry.data, envelopes, messagesCarrier('redacted')) }
  const carrier = opened(entry.signature, envelopes, messagesCarrier('signature'))
  return { entry, ...written(entry.thinking), ...carrier }
}

function written(value: unknown): { text?: string } {
  return typeof value === 'string' ? { text: value } : {}
}

function opened(
  value: unknown,
  envelopes: Envelopes,
  foreign: (value: string) => Carrier | 'own',
): Pick<Entry, 'carrier'> {
  if (!isText(value)) return {}
  const carrier = envelopes.open(value)
  return { carrier: carrier === 'foreign' ? foreign(value) : carrier }
}

/**
 * One part for each carrier, with the text before it. The first entry without text gets the plain text, without the
 * paragraphs that later entries repeat.
 */
function toParts(entries: Entry[], plain: string | undefined): ReasoningPart[] {
  const own = entries.filter((e) => e.carrier === 'own').map((e) => e.entry)
  const listed = entries.flatMap((e) => (e.text ? [e.text] : []))
  let rest = plain === undefined ? '' : withoutEnd(plain, listed)
  const parts: ReasoningPart[] = []
  for (const { text, raw, carrier } of entries) {
    if (carrier === 'own') continue
    const previous = parts.at(-1)
    // A summary and the encrypted reasoning after it are one part.
    if (carrier !== undefined && text === undefined && previous && isOpen(previous)) {
      close(previous, carrier)
      continue
    }
    const part: ReasoningPart = { type: 'reasoning', texts: [], ...(raw !== undefined && { raw }) }
    const redacted = typeof carrier === 'object' && carrier.kind === 'redacted'
    if (text) part.texts.push(text)
    else if (rest !== '' && !redacted) {
      part.texts.push(rest)
      rest = ''
    }
    if (carrier !== undefined) close(part, carrier)
    if (part.texts.length > 0 || carrier !== undefined) parts.push(part)
  }
  if (rest !== '') parts.unshift({ type: 'reasoning', texts: [rest] })
  if (own.length > 0) {
    const details: Carrier = { dialect: 'chat', kind: 'details', value: JSON.stringify(own) }
    const last = parts.at(-1)
    if (last && isOpen(last)) last.carrier = details
    else parts.push({ type: 'reasoning', texts: own.flatMap(detailText), carrier: details })
  }
  return parts
}

function isOpen(part: ReasoningPart): boolean {
  return part.carrier === undefined && part.lostCarrier === undefined
}

function close(part: ReasoningPart, carrier: Carrier | 'broken' | 'own'): void {
  if (carrier === 'broken') part.lostCarrier = true
  else if (carrier !== 'own') part.carrier = carrier
}

/** The text without these paragraphs at its end. */
function withoutEnd(text: string, paragraphs: string[]): string {
  let rest = text
  for (const paragraph of paragraphs.toReversed()) {
    if (!rest.endsWith(paragraph)) break
    rest = rest.slice(0, rest.length - paragraph.length)
    if (rest.endsWith(PARAGRAPH)) rest = rest.slice(0, -PARAGRAPH.length)
  }
  return rest
}

/** The readable text of an entry of `reasoning_details`. */
export function detailText(entry: Fields): string[] {
  const text = entry.type === 'reasoning.summary' ? entry.summary : entry.text
  return isText(text) ? [text] : []
}

/** True for an entry with more than its text. */
export function isOpaque(entry: Fields): boolean {
  if (entry.type === 'reasoning.summary') return false
  return entry.type !== 'reasoning.text' || isText(entry.signature)
}

/** The entries of a carrier for a client. Text is absent if `reasoning_content` has it. */
export function detailsOf(carrier: Carrier, text: string | undefined, envelopes: Envelopes): wire.Detail[] {
  if (carrier.dialect === 'chat') return entriesOf(carrier)
  return [sealedDetail(carrier, text, envelopes.seal(carrier))]
}

function sealedDetail(carrier: Carrier, text: string | undefined, sealed: string): wire.ReasoningDetail {
  if (carrier.kind === 'signature') return { type: 'reasoning.text', text, signature: sealed }
  const id = carrier.kind === 'encrypted' ? carrier.id : undefined
  return { type: 'reasoning.encrypted', data: sealed, id }
}

/** The entries as a chat upstream sent them. */
export function entriesOf(carrier: Carrier): Fields[] {
  const value = carrier.kind === 'details' ? tryParse(carrier.value) : undefined
  return Array.isArray(value) ? value.filter(isRecord) : []
}
