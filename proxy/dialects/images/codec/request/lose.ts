/** Losses of a conversation that is sent to a model that only makes images. */
import { GatewayError } from '../../../../errors.ts'
import type { Losses } from '../../../core/neutral/losses.ts'
import type { TypedField } from '../../../core/neutral/typed-field.ts'
import type { ModelRequest, ToolChoice, UserTurn } from '../../../core/neutral/types.ts'

/** Typed fields that the images API lacks. Limits of text are not among them, because there is no text to limit. */
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

/** Records losses. Throws GatewayError unsupported_parameter for fields that must not be dropped. `last`: the turn that is kept. */
export function loseSettings(request: ModelRequest, last: UserTurn, losses: Losses): void {
  const { turns, tools, toolChoice, reasoning, choices } = request
  if (choices !== undefined && choices > 1) throw unsupported(losses, 'choices', 'must be 1 with this model')
  if (toolChoice !== undefined && !isSatisfied(toolChoice)) {
    throw unsupported(losses, 'toolChoice', 'requires a tool that this model does not have')
  }
  // An image is neither a call nor JSON. A client that expects one would pay for an image that it cannot use.
  if (tools.some((tool) => tool.type !== 'hosted' || tool.name !== 'image_generation')) {
    throw unsupported(losses, 'tools', 'may contain only image_generation with this model')
  }
  if (request.format !== undefined)
    throw unsupported(losses, 'format', 'is not supported: this model answers with images')
  for (const turn of turns) if (turn !== last) losses.lose(turn.role === 'system' ? 'system' : 'turns')
  for (const part of last.parts) {
    if (part.type === 'file' || part.type === 'audio' || part.type === 'hosted') losses.lose(part.type)
    if (part.type === 'image' && part.detail !== undefined && part.detail !== 'auto')
      losses.lose('image.detail')
    if ('cache' in part && part.cache !== undefined) losses.lose('cacheMark')
  }
  for (const field of SETTINGS) if (request[field] !== undefined) losses.lose(field)
  if (reasoning?.effort !== undefined) losses.lose('effort')
  if (reasoning?.budgetTokens !== undefined) losses.lose('budgetTokens')
  if (reasoning?.thinking === 'adaptive') losses.lose('thinking')
  if (reasoning?.summary !== undefined) losses.lose('summary')
  if (request.store === true) losses.lose('store')
}

/** True if an image satisfies the choice: image_generation is the only tool that this model has. */
function isSatisfied(choice: ToolChoice): boolean {
  if (choice.type === 'auto' || choice.type === 'none' || choice.type === 'required') {
    return choice.type !== 'required'
  }
  return choice.type === 'hosted' && choice.name === 'image_generation'
}

export function unsupported(losses: Losses, field: TypedField, problem: string): GatewayError {
  const param = losses.name(field)
  return new GatewayError('unsupported_parameter', `${param} ${problem}.`, { param })
}
