/** POST /api/proxy: the caller's request to the caller's upstream. */
import { z } from 'zod'
import { JSON_TYPE, type Operation } from './operation.ts'
import { named } from './schemas.ts'

const request = z
  .looseObject({
    url: z.string().min(1).describe('Absolute, http or https.'),
    format: z
      .string()
      .describe(
        'The style of the API: messages if it contains `anthropic`, `claude` or `messages`, else chat.',
      ),
    body: z.looseObject({ model: z.string().min(1) }).describe('Sent unchanged, byte for byte.'),
  })
  .meta({
    examples: [
      {
        url: 'https://api.example.com/v1/chat/completions',
        format: 'openai',
        body: { model: 'example', messages: [{ role: 'user', content: 'Hello there' }] },
      },
    ],
  })
  .register(named, { id: 'RelayRequest' })

const upstream = {
  description: 'The upstream’s own answer, without `x-sluice-error`.',
  content: { '*/*': z.unknown() },
}

export const relay: Operation = {
  method: 'post',
  path: '/api/proxy',
  id: 'relay',
  tag: 'Relay',
  summary: 'Send a request to the caller’s own upstream',
  description:
    'Send the key of the upstream as `Authorization: Bearer`. If SLUICE_RELAY_REQUIRE_API_KEY is set, also send a key of ' +
    'the gateway in `x-api-key`. Errors of the relay itself have `x-sluice-error`; an upstream may answer the same ' +
    'statuses without it and with any body.',
  request: { [JSON_TYPE]: request },
  answers: { 200: upstream },
  otherwise: upstream,
  codes: [
    'address_refused',
    'relay_disabled',
    'request_too_large',
    'unsupported_media_type',
    'upstream_error',
    'upstream_timeout',
  ],
  family: 'openai',
  security: [{ upstreamKey: [] }, { upstreamKey: [], apiKey: [] }],
  alone: true,
}
