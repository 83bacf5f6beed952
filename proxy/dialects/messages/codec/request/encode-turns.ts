/** Turns as the system prompt and the messages of a request. */

import { isRecord } from '../../../core/json/value.ts'
import type { SystemTurn, Turn, UserTurn } from '../../../core/neutral/types.ts'
import {
  encodeAssistantPart,
  encodeHosted,
  encodeResult,
  encodeText,
  encodeUserPart,
} from './encode-blocks.ts'
import { type Json, restore, shapeOf } from './keeper.ts'
import type { Writer } from './writer.ts'

export interface Conversation {
  /** Blocks of the system prompt, or the text of a client that wrote it as one. */
  system: Json[] | string
  messages: Json[]
}

type Role = 'user' | 'assistant' | 'system'

interface Draft {
  role: Role
  blocks: Json[]
  /** The turn that began it, when that was a message of this dialect: nothing else may join it. */
  original?: Turn
}

/** The first message must be a user's, and must say something. */
const PLACEHOLDER: Json = { role: 'user', content: '.' }
const SILENCE: Json = { type: 'text', text: '.' }

export function encodeConversation(turns: readonly Turn[], writer: Writer): Conversation {
  const firstOther = turns.findIndex((turn) => turn.role !== 'system')
  const leading = firstOther < 0 ? turns.length : firstOther
  const system: SystemTurn[] = []
  const drafts: Draft[] = []
  turns.forEach((turn, i) => {
    const isTop = writer.own && turn.role === 'system' ? turn.placement === 'top' : i < leading
    if (isTop && turn.role === 'system') system.push(turn)
    else addTurn(drafts, turn, writer)
  })
  const messages = writer.own ? drafts : tidy(drafts, writer)
  return { system: encodeSystem(system, writer), messages: messages.map((draft) => finish(draft, writer)) }
}

function encodeSystem(turns: SystemTurn[], writer: Writer): Json[] | string {
  const blocks = turns.flatMap((turn) => systemBlocks(turn, writer))
  const [first] = turns
  if (turns.length === 1 && shapeOf(first?.ext)?.string === true && typeof blocks[0]?.text === 'string') {
    return blocks[0].text
  }
  return blocks
}

function systemBlocks(turn: SystemTurn, writer: Writer): Json[] {
  return said(
    turn.parts.map((part) => (part.type === 'text' ? encodeText(part, writer) : encodeHosted(part, writer))),
    writer,
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
      add(drafts, 'user', results, turn, writer)
      break
    }
    case 'assistant': {
      const blocks = said(
        turn.parts.map((part) => encodeAssistantPart(part, writer)),
        writer,
      )
      add(drafts, 'assistant', blocks, turn, writer)
    }
  }
}

/** A user who says nothing still keeps the answer before from being one to go on from. */
function addUser(drafts: Draft[], turn: UserTurn, writer: Writer): void {
  const blocks = said(
    turn.parts.map((part) => encodeUserPart(part, writer)),
    writer,
  )
  const isSilent = blocks.length === 0 && drafts.at(-1)?.role === 'assistant' && !writer.own
  add(drafts, 'user', isSilent ? [SILENCE] : blocks, turn, writer)
}

/** In the middle of a conversation; a model that takes no system message there reads it as marked user text. */
function addSystem(drafts: Draft[], turn: SystemTurn, writer: Writer): void {
  const blocks = systemBlocks(turn, writer)
  if (writer.own || writer.features.systemTurns) {
    add(drafts, 'system', blocks, turn, writer)
    return
  }
  if (blocks.length === 0) return
  writer.lose('system')
  const tagged = blocks.map((block) => ({ ...block, text: `<system>\n${String(block.text)}\n</system>` }))
  add(drafts, 'user', tagged, turn, writer)
}

function add(drafts: Draft[], role: Role, blocks: Json[], turn: Turn, writer: Writer): void {
  const last = drafts.at(-1)
  const shape = writer.own ? shapeOf(turn.ext) : undefined
  if (shape?.message === true) {
    drafts.push({ role, blocks, original: turn })
  } else if (last?.original !== undefined && shape?.joined === true && last.role === role) {
    last.blocks = inOrder(last.blocks, blocks, shapeOf(last.original.ext)?.isResult)
  } else if (last?.role === role && last.original === undefined) {
    last.blocks.push(...blocks)
  } else if (blocks.length > 0) {
    drafts.push({ role, blocks: [...blocks] })
  }
}

/** Results and other blocks of one message as they stood in it. */
function inOrder(results: Json[], others: Json[], isResult: unknown): Json[] {
  if (!Array.isArray(isResult) || isResult.length !== results.length + others.length) {
    return [...results, ...others]
  }
  let nextResult = 0
  let nextOther = 0
  return present(isResult.map((result) => (result === true ? results[nextResult++] : others[nextOther++])))
}

/** Makes the messages of another dialect's conversation acceptable. */
function tidy(drafts: Draft[], writer: Writer): Draft[] {
  const messages = drafts.map(({ role, blocks }) => ({ role, blocks: resultsFirst(blocks) }))
  const last = messages.at(-1)
  if (last?.role === 'assistant') {
    // A call cannot be gone on from: its result must follow.
    const goesOn = writer.features.prefill && !last.blocks.some(({ type }) => type === 'tool_use')
    const kept = goesOn ? withoutTrailingSpace(last.blocks) : []
    if (!goesOn) writer.lose('prefill')
    messages.pop()
    if (kept.length > 0) messages.push({ role: 'assistant', blocks: kept })
  }
  if (messages[0]?.role !== 'user') messages.unshift({ role: 'user', blocks: [] })
  return messages
}

function resultsFirst(blocks: Json[]): Json[] {
  const isResult = (block: Json) => block.type === 'tool_result'
  return [...blocks.filter(isResult), ...blocks.filter((block) => !isResult(block))]
}

function withoutTrailingSpace(blocks: Json[]): Json[] {
  const last = blocks.at(-1)
  if (last?.type !== 'text' || typeof last.text !== 'string') return blocks
  const text = last.text.trimEnd()
  return text === '' ? blocks.slice(0, -1) : [...blocks.slice(0, -1), { ...last, text }]
}

function finish({ role, blocks, original }: Draft, writer: Writer): Json {
  const shape = shapeOf(original?.ext)
  const [only] = blocks
  if (shape?.string === true && blocks.length === 1 && isRecord(only) && only.type === 'text') {
    return restore({ role, content: only.text }, original?.ext)
  }
  if (blocks.length === 0 && !writer.own) return PLACEHOLDER
  return restore({ role, content: blocks }, original?.ext)
}

/** What is there; text of white space alone would be refused. */
function said(blocks: (Json | undefined)[], writer: Writer): Json[] {
  const isBlank = ({ type, text }: Json) => type === 'text' && typeof text === 'string' && text.trim() === ''
  return present(blocks).filter((block) => writer.own || !isBlank(block))
}

function present<T>(items: (T | undefined)[]): T[] {
  return items.filter((item) => item !== undefined)
}
