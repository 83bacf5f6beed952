/** Makes answers safe for clients: well-formed text, and a unique id for each tool call. */
import type { AssistantPart, Emit, ModelAnswer, StreamPart } from '../neutral/types.ts'
import { wellFormed } from './clean.ts'

/** Holds back a high surrogate at the end of a delta until its low one arrives. A lone surrogate becomes U+FFFD. */
export function tidy(emit: Emit): Emit {
  const halves = new Map<string, string>()
  const calls = new Set<string>()
  return (part) => {
    if ('text' in part) {
      if (halves.size === 0 && part.text.isWellFormed()) return emit(part)
      const { whole, half } = splitHalf((halves.get(part.id) ?? '') + part.text)
      if (half === '') halves.delete(part.id)
      else halves.set(part.id, half)
      if (whole !== '' || part.text === '' || 'logprobs' in part) emit({ ...part, text: whole })
      return
    }
    switch (part.type) {
      case 'tool-call-start':
        return emit({ ...part, callId: unused(part.callId, calls) })
      case 'text-end':
        return end(part, { type: 'text-delta', id: part.id, text: '\ufffd' })
      case 'refusal-end':
        return end(part, { type: 'refusal-delta', id: part.id, text: '\ufffd' })
      case 'reasoning-end':
        return end(part, { type: 'reasoning-delta', id: part.id, text: '\ufffd', paragraph: 0 })
      case 'tool-call-end':
        return end(part, { type: 'tool-call-delta', id: part.id, text: '\ufffd' })
    }
    emit(part)
  }

  function end(part: StreamPart & { id: string }, rest: StreamPart): void {
    if (halves.delete(part.id)) emit(rest)
    emit(part)
  }
}

/** Tidies a whole answer; the same object when nothing changes. */
export function tidyAnswer(answer: ModelAnswer): ModelAnswer {
  const calls = new Set<string>()
  const parts = answer.parts.map((part) => tidyPart(part, calls))
  return parts.every((part, index) => part === answer.parts[index]) ? answer : { ...answer, parts }
}

function tidyPart(given: AssistantPart, calls: Set<string>): AssistantPart {
  const part = wellFormed(given) as AssistantPart
  if (part.type !== 'tool-call') return part
  const callId = unused(part.callId, calls)
  return callId === part.callId ? part : { ...part, callId }
}

/** The id, with a number appended when an earlier call of the answer has it. */
function unused(id: string, calls: Set<string>): string {
  let own = id
  for (let n = 2; calls.has(own); n++) own = `${id}_${n}`
  calls.add(own)
  return own
}

function splitHalf(text: string): { whole: string; half: string } {
  const last = text.charCodeAt(text.length - 1)
  if (last < 0xd800 || last > 0xdbff) return { whole: text.toWellFormed(), half: '' }
  return { whole: text.slice(0, -1).toWellFormed(), half: text.slice(-1) }
}
