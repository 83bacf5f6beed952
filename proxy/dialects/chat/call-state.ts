/**
 * State that a chat upstream attaches to a tool call (Gemini's thought signatures). Calls of other dialects have no field
 * for it: their clients get it as reasoning without text after the call, and send that back.
 */
import type { AssistantPart, Carrier, Emit, ModelRequest, Turn } from '../core/neutral/types.ts'

/** Moves the state into reasoning after its call, for the client. */
export function carryBesideCalls(emit: Emit): Emit {
  const callIds = new Map<string, string>()
  return (part) => {
    if (part.type === 'tool-call-start') callIds.set(part.id, part.callId)
    if (part.type !== 'tool-call-end' || part.carrier?.kind !== 'extra_content') return emit(part)
    const { carrier, ...end } = part
    emit(end)
    const id = `${part.id}-state`
    emit({ type: 'reasoning-start', id })
    emit({ type: 'reasoning-end', id, carrier: { ...carrier, callId: callIds.get(part.id) ?? '' } })
  }
}

/** Moves the state back to its calls, for the upstream. Returns the request itself when it carries none. */
export function restoreToCalls(request: ModelRequest): ModelRequest {
  const found = request.turns.some((turn) => turn.role === 'assistant' && turn.parts.some(isCallState))
  return found ? { ...request, turns: request.turns.map(restoreTurn) } : request
}

function restoreTurn(turn: Turn): Turn {
  if (turn.role !== 'assistant') return turn
  const carriers = new Map<string, Carrier>()
  for (const part of turn.parts) {
    if (isCallState(part)) carriers.set(part.carrier.callId, part.carrier)
  }
  const parts = turn.parts.flatMap((part): AssistantPart[] => {
    if (isCallState(part)) return []
    const carrier = part.type === 'tool-call' ? carriers.get(part.callId) : undefined
    return [carrier === undefined ? part : ({ ...part, carrier } as AssistantPart)]
  })
  return { ...turn, parts }
}

type CallState = AssistantPart & { carrier: Carrier & { kind: 'extra_content'; callId: string } }

function isCallState(part: AssistantPart): part is CallState {
  return (
    part.type === 'reasoning' && part.carrier?.kind === 'extra_content' && part.carrier.callId !== undefined
  )
}
