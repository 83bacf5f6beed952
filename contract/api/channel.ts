import { z } from 'zod'
import { EFFORTS, PROFILES, REASONING_HISTORIES, REASONINGS } from '../profiles.ts'
import {
  duration,
  HEADER_NAME,
  headerName,
  headerValue,
  MAX_MAP_ENTRIES,
  mapWithinBounds,
  reference,
  secretEntry,
} from './fields.ts'
import { defineKind, type Rule } from './kind.ts'
import { READY_COLUMNS, statusOf } from './status.ts'

/** The API that an upstream speaks. */
export const CHANNEL_TYPES = ['chat_completion', 'responses', 'messages', 'embeddings', 'images'] as const
export type ChannelType = (typeof CHANNEL_TYPES)[number]

/** What clients read of an upstream's refusals. */
export const ERROR_MESSAGES = ['Sanitized', 'Generic'] as const

/** Headers that the gateway or the transport writes itself. */
const OWN_HEADERS = [
  'host',
  'content-length',
  'content-type',
  'transfer-encoding',
  'connection',
  'upgrade',
  'keep-alive',
  'te',
  'trailer',
  'expect',
  'accept-encoding',
]

const feature = (description: string) => z.boolean().optional().meta({ description })

const spec = z.strictObject({
  type: z.enum(CHANNEL_TYPES).meta({ description: 'The API that the upstream speaks.' }),
  baseURL: z
    .string()
    .min(8)
    .max(2048)
    .regex(
      /^https?:\/\/[^\s/?#@]+(\/[^\s?#]*)?$/,
      'must be an http or https URL without user, query and fragment, such as https://api.example.com/v1',
    )
    .meta({
      description:
        'What an SDK of that family takes as base URL, such as https://api.example.com/v1. An empty path means /v1 ' +
        `(messages: no path). In folder mode \`\${NAME}\` is replaced from the environment.`,
    }),
  auth: z
    .strictObject({
      scheme: z.enum(['Bearer', 'XApiKey', 'Header', 'None']).meta({
        description:
          'How the credential is sent: Authorization: Bearer, x-api-key, the named header, or not at all.',
      }),
      header: headerName().optional().meta({ description: 'Name of the header, for the scheme Header.' }),
    })
    .optional()
    .meta({ description: 'Default: Bearer; for messages XApiKey.' }),
  secretRef: secretEntry('key')
    .optional()
    .meta({ description: 'Secret entry that holds the upstream credential.' }),
  headers: z
    .record(z.string(), headerValue())
    .optional()
    .meta({ description: 'Headers added to every request.', maxProperties: MAX_MAP_ENTRIES }),
  query: z
    .record(z.string(), z.string().max(1024))
    .optional()
    .meta({ description: 'Query parameters added to every request.', maxProperties: MAX_MAP_ENTRIES }),
  profile: z
    .enum(PROFILES)
    .optional()
    .meta({ description: 'What the upstream can do beyond its type; default generic.' }),
  features: z
    .strictObject({
      streamUsage: feature('Reports usage in a stream when asked by stream_options.include_usage (chat).'),
      finishReason: feature(
        'Ends every choice of a stream with a finish_reason (chat). Set it to false only for an upstream that never ' +
          'does: [DONE] then proves the end of an answer.',
      ),
      embeddings: feature('Serves /embeddings beside its own API (chat, responses).'),
      images: feature(
        'Serves /images/generations and /images/edits beside its own API (chat, responses); responses channels ' +
          'without it are asked for a picture by the tool image_generation.',
      ),
      maxCompletionTokens: feature('Takes max_completion_tokens instead of max_tokens (chat).'),
      developerRole: feature('Wants instructions as role developer instead of system (chat, responses).'),
      sampling: feature('Takes temperature, top_p and (messages) top_k.'),
      reasoning: z
        .enum(REASONINGS)
        .optional()
        .meta({
          description:
            'How depth of thinking is asked for. None: the models do not think. Effort: by a level. Budget: by ' +
            'thinking.budget_tokens, the way of older models (messages). Adaptive: by thinking adaptive with a level ' +
            '(messages).',
        }),
      efforts: z.array(z.enum(EFFORTS)).min(1).max(EFFORTS.length).optional().meta({
        description:
          'Levels that the models have; another one becomes the nearest. none: thinking can be switched off.',
      }),
      reasoningHistory: z
        .enum(REASONING_HISTORIES)
        .optional()
        .meta({
          description:
            'Which reasoning of earlier turns is sent back as reasoning_content (chat): none, that of the turn which ' +
            'is still going on, or all.',
        }),
      structuredOutput: feature('Holds its answer to a JSON Schema.'),
      customTools: feature('Takes custom tools (chat, responses); for others they are wrapped in functions.'),
      webSearch: feature('Searches the web itself when asked by the hosted tool of its API.'),
      systemTurns: feature(
        'Takes system messages in the middle of a conversation (messages); for others they become user text.',
      ),
      prefill: feature('Goes on from an assistant message at the end (messages).'),
      cacheMarks: feature('Takes marks of what to cache: prompt_cache_breakpoint, cache_control.'),
      nullContent: feature(
        'Takes null as the content of an assistant message with tool calls (chat); others get an empty text.',
      ),
      speed: feature('Takes speed: fast (messages).'),
      compaction: feature(
        'Shortens conversations itself, by /responses/compact and compaction_trigger (responses); for others a ' +
          'summary is asked for.',
      ),
    })
    .optional()
    .meta({
      description:
        'Overrides single features of the profile, also of the one that a route names for a model.',
    }),
  timeouts: z
    .strictObject({
      connect: duration().optional().meta({ description: 'Until the connection stands; default 5s.' }),
      firstByte: duration().optional().meta({ description: 'Until the answer begins; default 300s.' }),
      idle: duration().optional().meta({ description: 'Between two pieces of the answer; default 120s.' }),
      total: duration().optional().meta({ description: 'For the whole answer; default 600s.' }),
    })
    .optional()
    .meta({ description: 'How long to wait for the upstream.' }),
  maxConcurrentRequests: z.int().min(1).max(1_000_000).optional().meta({
    description: 'Requests in flight to this channel from one proxy; a full channel is passed over.',
  }),
  errorMessages: z
    .enum(ERROR_MESSAGES)
    .optional()
    .meta({
      description:
        'What clients read where the upstream calls a request their fault (400, 413, 422). Sanitized: its own message, ' +
        'with credentials, addresses and ids masked. Generic: a sentence of the gateway. Default Sanitized.',
    }),
  tls: z
    .strictObject({
      caRef: secretEntry('ca.crt')
        .optional()
        .meta({ description: 'Secret entry with the CA bundle (PEM) to trust.' }),
      clientCertificateRef: reference('Secret')
        .optional()
        .meta({
          description:
            'Secret of the type kubernetes.io/tls with the certificate that the upstream is shown: entries tls.crt and ' +
            'tls.key (PEM, the key without a passphrase).',
        }),
      serverName: z
        .string()
        .min(1)
        .max(253)
        .optional()
        .meta({ description: 'Name to expect in the certificate.' }),
    })
    .optional()
    .meta({
      description:
        'How the upstream’s certificate is checked, and which one it is shown; default: the public authorities and those ' +
        'of SLUICE_UPSTREAM_CA_FILE, and none.',
    }),
  ejection: z
    .strictObject({
      consecutiveFailures: z.int().min(0).max(1000).optional().meta({
        description: 'Failures in a row after which the channel rests; default 5, 0 never.',
      }),
      interval: duration()
        .optional()
        .meta({ description: 'The first rest; each next one doubles. Default 30s.' }),
      maxInterval: duration().optional().meta({ description: 'The longest rest; default 300s.' }),
    })
    .optional()
    .meta({ description: 'When a failing channel rests, and for how long.' }),
  disabled: z.boolean().optional().meta({ description: 'A disabled channel is passed over.' }),
})
export type ChannelSpec = z.output<typeof spec>

const status = statusOf({
  endpoints: z
    .array(z.string().max(64))
    .max(16)
    .optional()
    .meta({ description: 'Endpoints that it can serve.' }),
  health: z
    .strictObject({
      lastFailure: z.string().max(64).optional().meta({ description: 'Class of the last failure.' }),
      since: z.iso
        .datetime({ offset: true })
        .optional()
        .meta({ description: 'Since when attempts have failed.' }),
      ejectedBy: z.int().min(0).optional().meta({ description: 'Number of proxies that let it rest.' }),
      proxies: z.int().min(0).optional().meta({ description: 'Number of proxies that are alive.' }),
    })
    .optional()
    .meta({
      description:
        'What the proxies see of it while it fails, looked at every 10 s; absent while it does not.',
    }),
})
export type ChannelStatus = z.output<typeof status>

const rules: Rule<ChannelSpec>[] = [
  {
    cel: "!has(self.auth) || (self.auth.scheme == 'Header') == has(self.auth.header)",
    message: 'spec.auth.header goes with the scheme Header, and only with it',
    test: (s) => s.auth === undefined || (s.auth.scheme === 'Header') === (s.auth.header !== undefined),
  },
  {
    cel: `!has(self.headers) || self.headers.all(h, h.matches(r"${HEADER_NAME.source}"))`,
    message: 'spec.headers may name HTTP headers only: letters, digits and dashes, at most 128 characters',
    test: (s) => Object.keys(s.headers ?? {}).every((h) => HEADER_NAME.test(h)),
  },
  {
    cel: `!has(self.headers) || self.headers.all(h, !(h.lowerAscii() in ${JSON.stringify(OWN_HEADERS).replaceAll('"', "'")}))`,
    message: `spec.headers may not name a header that the gateway writes itself: ${OWN_HEADERS.join(', ')}`,
    test: (s) => !Object.keys(s.headers ?? {}).some((h) => OWN_HEADERS.includes(h.toLowerCase())),
  },
  mapWithinBounds('headers', (s) => s.headers),
  {
    cel: '!has(self.query) || self.query.all(q, q.size() >= 1 && q.size() <= 128)',
    message: 'the names in spec.query must have 1 to 128 characters',
    // CEL counts code points.
    test: (s) => Object.keys(s.query ?? {}).every((q) => q !== '' && [...q].length <= 128),
  },
  mapWithinBounds('query', (s) => s.query),
]

export const channel = defineKind({
  kind: 'Channel',
  plural: 'channels',
  singular: 'channel',
  shortNames: ['slch'],
  description: 'One upstream: where it is, which API it speaks, how to authenticate, how long to wait.',
  spec,
  status,
  rules,
  columns: [
    { name: 'Type', jsonPath: '.spec.type', type: 'string', description: 'The API that it speaks.' },
    {
      name: 'Healthy',
      jsonPath: '.status.conditions[?(@.type=="Healthy")].status',
      type: 'string',
      description: 'False while proxies see it fail.',
    },
    { name: 'URL', jsonPath: '.spec.baseURL', type: 'string', description: 'Where it is.', priority: 1 },
    ...READY_COLUMNS,
  ],
  selectableFields: ['.spec.type'],
})
