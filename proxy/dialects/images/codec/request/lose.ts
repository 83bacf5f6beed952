/** What of a conversation does not reach a model that only makes pictures. */
import { GatewayError } from '../../../../errors.ts'
import { type Losses, lossName, type TypedField } from '../../../core/neutral/losses.ts'
import type { ModelRequest, ToolChoice, UserTurn } from '../../../core/neutral/types.ts'

/** Typed fields of a request that the API of pictures lacks; limits of text mean nothing where there is none. */
const SETTINGS = [
  'temperature',
  'topP',
  'topK',
  'stop',
  'seed',
  'frequencyPenalty',
  'presencePenalty',
  'logprobs',
  'verbosity',
  'metadata',
  'cacheKey',
  'tier',
] as const satisfies (TypedField & keyof ModelRequest)[]

/** Notes it all. Throws GatewayError unsupported_parameter for what nobody may drop. `last`: the turn that is kept. */
export function loseSettings(request: ModelRequest, last: UserTurn, losses: Losses): void {
  const { source, turns, tools, toolChoice, reasoning, choices } = request
  const name = (field: TypedField) => lossName(source, field)
  const lose = (field: TypedField) => losses.add(name(field))
  if (choices !== undefined && choices > 1) throw refused(name('choices'), 'must be 1 with this model')
  if (toolChoice !== undefined && !isMet(toolChoice)) {
    throw refused(name('toolChoice'), 'asks for a tool that this model does not offer')
  }
  // A picture is neither a call nor JSON: a caller that waits for one would pay for what it cannot use.
  if (tools.some((tool) => tool.type !== 'hosted' || tool.name !== 'image_generation')) {
    throw refused(name('tools'), 'may hold image_generation alone with this model')
  }
  if (request.format !== undefined)
    throw refused(name('format'), 'is not supported: this model answers by pictures')
  for (const turn of turns) if (turn !== last) lose(turn.role === 'system' ? 'system' : 'turns')
  for (const part of last.parts) {
    if (part.type === 'file' || part.type === 'audio' || part.type === 'hosted') lose(part.type)
    if (part.type === 'image' && part.detail !== undefined && part.detail !== 'auto') lose('image.detail')
    if ('cache' in part && part.cache !== undefined) lose('cacheMark')
  }
  for (const field of SETTINGS) if (request[field] !== undefined) lose(field)
  if (reasoning?.effort !== undefined) lose('effort')
  if (reasoning?.budgetTokens !== undefined) lose('budgetTokens')
  if (reasoning?.thinking === 'adaptive') lose('thinking')
  if (reasoning?.summary !== undefined) lose('summary')
  if (request.store === true) lose('store')
}

/** The one tool that this model is. */
function isMet(choice: ToolChoice): boolean {
  if (choice.type === 'auto' || choice.type === 'none' || choice.type === 'required') {
    return choice.type !== 'required'
  }
  return choice.type === 'hosted' && choice.name === 'image_generation'
}

function refused(param: string, problem: string): GatewayError {
  return new GatewayError('unsupported_parameter', `${param} ${problem}.`, { param })
}
