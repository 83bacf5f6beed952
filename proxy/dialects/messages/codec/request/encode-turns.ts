/** Encodes turns as the system prompt and the messages of a request. */

import type { Fields } from '../../../core/json/value.ts'
import type { SystemTurn, Turn, UserTurn } from '../../../core/neutral/types.ts'
import type * as wire from '../../wire.ts'
import {
  encodeAssistantPart,
  encodeHosted,
  encodeResult,
  encodeText,
  encodeUserPart,
  isText,
} from './encode-blocks.ts'
import type { Writer } from './writer.ts'

interface Conversation {
  system: (wire.TextParam | Fields)[]
  messages: wire.MessageParam[]
}

interface Draft {
  role: wire.MessageParam['role']
  blocks: wire.BlockParam[]
}

/** The first message must be a user's, and must not be empty. */
const PLACEHOLDER: wire.MessageParam = { role: 'user', content: '.' }
const BLANK_TEXT: wire.TextParam = { type: 'text', text: '.' }

export function encodeConversation(turns: readonly Turn[], writer: Writer): Conversation {
  const firstOther = turns.findIndex((turn) => turn.role !== 'system')
  const leading = firstOther < 0 ? turns.length : firstOther
  const system: SystemTurn[] = []
  const drafts: Draft[] = []
  turns.forEach((turn, i) => {
    if (i < leading && turn.role === 'system') system.push(turn)
    else addTurn(drafts, turn, writer)
  })
  return {
    system: system.flatMap((turn) => systemBlocks(turn, writer)),
    messages: tidy(drafts, writer).map(finish),
  }
}

function systemBlocks(turn: SystemTurn, writer: Writer): Conversation['system'] {
  return nonBlank(
    turn.parts.map((part) => (part.type === 'text' ? encodeText(part, writer) : encodeHosted(part, writer))),
  )
}

function addTurn(drafts: Draft[], turn: Turn, writer: Writer): void {
  switch (turn.role) {
    case 'system':
      addSystem(drafts, turn, writer)
      break
    case 'user':
      addUser(drafts, turn, writer)
      break
    case 'tool': {
      const results = turn.results.map((result) => encodeResult(result, writer))
      add(drafts, 'user', results)
      break
    }
    case 'assistant': {
      add(drafts, 'assistant', nonBlank(turn.parts.map((part) => encodeAssistantPart(part, writer))))
    }
  }
}

/** Keeps an empty user turn after an answer: without it, the model would continue that answer. */
function addUser(drafts: Draft[], turn: UserTurn, writer: Writer): void {
  const blocks = nonBlank(turn.parts.map((part) => encodeUserPart(part, writer)))
  const isEmpty = blocks.length === 0 && drafts.at(-1)?.role === 'assistant'
  add(drafts, 'user', isEmpty ? [BLANK_TEXT] : blocks)
}

/** Adds a system message within the conversation, as tagged user text if the model does not accept one there. */
function addSystem(drafts: Draft[], turn: SystemTurn, writer: Writer): void {
  const blocks = systemBlocks(turn, writer)
  if (writer.features.systemTurns) {
    add(drafts, 'system', blocks)
    return
  }
  if (blocks.length === 0) return
  writer.lose('system')
  const tag = ({ text }: Fields | wire.TextParam) =>
    ({ text: `<system>\n${String(text)}\n</system>` }) satisfies Partial<wire.TextParam>
  const tagged = blocks.map((block) => ({ ...block, ...tag(block) }))
  add(drafts, 'user', tagged)
}

function add(drafts: Draft[], role: Draft['role'], blocks: wire.BlockParam[]): void {
  const last = drafts.at(-1)
  if (last?.role === role) last.blocks.push(...blocks)
  else if (blocks.length > 0) drafts.push({ role, blocks: [...blocks] })
}

/** Makes the messages of another dialect's conversation acceptable. */
function tidy(drafts: Draft[], writer: Writer): Draft[] {
  const messages = drafts.map(({ role, blocks }) => ({ role, blocks: resultsFirst(blocks) }))
  const last = messages.at(-1)
  if (last?.role === 'assistant') {
    // A model cannot continue an answer that ends in a call: the result must follow.
    const continues = writer.features.prefill && !last.blocks.some(({ type }) => type === 'tool_use')
    const kept = continues ? withoutTrailingSpace(last.blocks) : []
    if (!continues) writer.lose('prefill')
    messages.pop()
    if (kept.length > 0) messages.push({ role: 'assistant', blocks: kept })
  }
  if (messages[0]?.role !== 'user') messages.unshift({ role: 'user', blocks: [] })
  return messages
}

function resultsFirst(blocks: wire.BlockParam[]): wire.BlockParam[] {
  const isResult = (block: wire.BlockParam) => block.type === 'tool_result'
  return [...blocks.filter(isResult), ...blocks.filter((block) => !isResult(block))]
}

function withoutTrailingSpace(blocks: wire.BlockParam[]): wire.BlockParam[] {
  const last = blocks.at(-1)
  if (last === undefined || !isText(last)) return blocks
  const text = last.text.trimEnd()
  return text === '' ? blocks.slice(0, -1) : [...blocks.slice(0, -1), { ...last, text }]
}

function finish({ role, blocks }: Draft): wire.MessageParam {
  return blocks.length === 0 ? PLACEHOLDER : { role, content: blocks }
}

/** The blocks without text of white space only, which the API refuses. */
function nonBlank<Block extends wire.BlockParam>(blocks: (Block | undefined)[]): Block[] {
  return blocks
    .filter((block) => block !== undefined)
    .filter((block) => !isText(block) || block.text.trim() !== '')
}
