/** Reads requests to count tokens: messages requests without the fields for an answer. */
import type { IncomingHttpHeaders } from 'node:http'
import { parseJsonObject } from '../../core/json/body.ts'
import { BodyValue } from '../../core/json/body-value.ts'
import { readModel } from '../../core/json/fields.ts'
import { type ModelSpan, modelSpan } from '../../core/json/model-splice.ts'
import { weighInput } from '../../core/json/weigh.ts'
import type { JsonLimits, ParsedRequest, RequestHead } from '../../core/request.ts'
import { INPUT_FIELDS } from '../input.ts'
import { checkPrompt, keptHeaders } from '../request.ts'

/** Top-level keys that the gateway acts on. */
const READ_KEYS: ReadonlySet<string> = new Set(['model', 'messages', 'system', 'tools'])

/** Ignores fields that concern the answer (`max_tokens`, `stream`). Throws GatewayError naming the field. */
export function parseRequest(
  body: Buffer,
  limits: JsonLimits,
  headers: IncomingHttpHeaders,
): ParsedRequest<ModelSpan> {
  const parsed = parseJsonObject(body, limits, READ_KEYS)
  const { value } = parsed
  const model = readModel(value.model)
  checkPrompt(value)
  const head: RequestHead = {
    model,
    stream: false,
    maxOutputTokens: 0,
    choices: 1,
    wantsStreamUsage: false,
    input: weighInput(parsed, INPUT_FIELDS),
  }
  const own = modelSpan(parsed.members)
  return { head, body, value: new BodyValue(body, value), headers: keptHeaders(headers), own }
}
