/** Reads requests to count tokens: a messages request that asks for no answer. */
import type { IncomingHttpHeaders } from 'node:http'
import type { JsonLimits, ParsedRequest, RequestHead } from '../../core/dialect.ts'
import { parseJsonObject } from '../../core/json/body.ts'
import { readModel } from '../../core/json/fields.ts'
import { noteMembers } from '../../core/json/model-splice.ts'
import { weighInput } from '../../core/json/weigh.ts'
import { INPUT_FIELDS } from '../input.ts'
import { checkPrompt, keptHeaders } from '../request.ts'

/** Top-level keys on which the gateway acts. */
const READ_KEYS: ReadonlySet<string> = new Set(['model', 'messages', 'system', 'tools'])

/** What concerns the answer alone (`max_tokens`, `stream`) means nothing here. Throws GatewayError naming the field. */
export function parseRequest(body: Buffer, limits: JsonLimits, headers: IncomingHttpHeaders): ParsedRequest {
  const parsed = parseJsonObject(body, limits, READ_KEYS)
  const model = readModel(parsed.value.model)
  checkPrompt(parsed.value)
  const head: RequestHead = {
    model,
    stream: false,
    maxOutputTokens: 0,
    choices: 1,
    wantsStreamUsage: false,
    input: weighInput(parsed, INPUT_FIELDS),
  }
  const request: ParsedRequest = { head, body, headers: keptHeaders(headers) }
  noteMembers(request, parsed.members)
  return request
}
