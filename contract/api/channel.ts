import { z } from 'zod'
import { CHANNEL_TYPES } from '../apis.ts'
import { CHANNEL_TYPE_FACTS } from '../channel-types.ts'
import { features } from '../features.ts'
import { PROFILES } from '../profiles.ts'
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

/** What clients see when an upstream refuses a request. */
export const ERROR_MESSAGES = ['Sanitized', 'Generic'] as const

/** What happens to a call whose client has left before the end of its answer. */
export const ON_DISCONNECT = ['Abort', 'Drain'] as const

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

const FACTS = Object.entries(CHANNEL_TYPE_FACTS)
const WITHOUT_VERSION = FACTS.flatMap(([type, { addsVersion }]) => (addsVersion ? type : [])).join(', ')
const OTHER_AUTH = FACTS.flatMap(([type, { auth }]) => {
  if (auth.scheme === 'Bearer') return []
  return `; for ${type} ${auth.scheme === 'Header' ? auth.header : auth.scheme}`
}).join('')

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
        'The base URL as an SDK for this API expects it, such as https://api.example.com/v1. An empty path means /v1 ' +
        `(${WITHOUT_VERSION}: no path). In folder mode, \`\${NAME}\` is replaced from the environment.`,
    }),
  auth: z
    .strictObject({
      scheme: z.enum(['Bearer', 'XApiKey', 'Header', 'None']).meta({
        description:
          'How the credential is sent: Authorization: Bearer, x-api-key, the named header, or not at all.',
      }),
      header: headerName().optional().meta({ description: 'Name of the header for the scheme Header.' }),
    })
    .optional()
    .meta({ description: `Default: Bearer${OTHER_AUTH}.` }),
  secretRef: secretEntry('key')
    .optional()
    .meta({ description: 'Secret entry that contains the upstream credential.' }),
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
    .meta({ description: 'Preset of features for a known upstream; default generic.' }),
  features: z.strictObject(features.partial().shape).optional().meta({
    description:
      'Overrides single features of the profile, including a profile that a route sets for a model.',
  }),
  timeouts: z
    .strictObject({
      connect: duration().optional().meta({ description: 'Time to connect; default 5s.' }),
      firstByte: duration().optional().meta({ description: 'Time until the answer begins; default 300s.' }),
      idle: duration()
        .optional()
        .meta({ description: 'Time between two parts of the answer; default 120s.' }),
      total: duration().optional().meta({ description: 'Time for the whole answer; default 600s.' }),
      drain: duration().optional().meta({
        description: 'With onDisconnect Drain: time to read on after the client has left; default 30s.',
      }),
    })
    .optional()
    .meta({ description: 'How long to wait for the upstream.' }),
  onDisconnect: z
    .enum(ON_DISCONNECT)
    .optional()
    .meta({
      description:
        'What happens to a call whose client leaves before the end of the answer. Abort: the call is ended, and what the ' +
        'upstream made is charged by an estimate. Drain: the upstream is read on without the client, up to ' +
        'timeouts.drain, so that the charge is exact. Once an answer has ended, its usage is waited for up to 2 s in ' +
        'either case. Default Abort.',
    }),
  maxConcurrentRequests: z.int().min(1).max(1_000_000).optional().meta({
    description:
      'Maximum number of requests in flight to this channel from one proxy; a full channel is skipped.',
  }),
  errorMessages: z
    .enum(ERROR_MESSAGES)
    .optional()
    .meta({
      description:
        'What clients see when the upstream rejects a request as their fault (400, 413, 422). Sanitized: the message of ' +
        'the upstream, with credentials, addresses and ids masked. Generic: a fixed message. Default Sanitized.',
    }),
  tls: z
    .strictObject({
      caRef: secretEntry('ca.crt')
        .optional()
        .meta({ description: 'Secret entry that contains the CA bundle (PEM) to trust.' }),
      clientCertificateRef: reference('Secret')
        .optional()
        .meta({
          description:
            'Secret of type kubernetes.io/tls with the client certificate for the upstream: entries tls.crt and ' +
            'tls.key (PEM, the key without a passphrase).',
        }),
      serverName: z
        .string()
        .min(1)
        .max(253)
        .optional()
        .meta({ description: 'Name that the upstream’s certificate must have.' }),
    })
    .optional()
    .meta({
      description:
        'How to check the upstream’s certificate, and the client certificate to use. Default: trust the public ' +
        'authorities and those in SLUICE_UPSTREAM_CA_FILE; no client certificate.',
    }),
  ejection: z
    .strictObject({
      consecutiveFailures: z.int().min(0).max(1000).optional().meta({
        description: 'Failures in a row after which the channel is ejected; default 5, 0 never.',
      }),
      interval: duration().optional().meta({
        description: 'Length of the first ejection; each following one is twice as long. Default 30s.',
      }),
      maxInterval: duration()
        .optional()
        .meta({ description: 'Maximum length of an ejection; default 300s.' }),
    })
    .optional()
    .meta({ description: 'When a failing channel is ejected, and for how long.' }),
  disabled: z.boolean().optional().meta({ description: 'A disabled channel is skipped.' }),
})
export type ChannelSpec = z.output<typeof spec>

const status = statusOf({
  endpoints: z
    .array(z.string().max(64))
    .max(16)
    .optional()
    .meta({ description: 'Endpoints that the channel can serve.' }),
  health: z
    .strictObject({
      lastFailure: z.string().max(64).optional().meta({ description: 'Class of the last failure.' }),
      since: z.iso
        .datetime({ offset: true })
        .optional()
        .meta({ description: 'Time since which attempts have been failing.' }),
      ejectedBy: z
        .int()
        .min(0)
        .optional()
        .meta({ description: 'Number of proxies that ejected the channel.' }),
      proxies: z.int().min(0).optional().meta({ description: 'Number of live proxies.' }),
    })
    .optional()
    .meta({
      description: 'Failures that the proxies report, updated every 10 s; absent while there are none.',
    }),
})

const rules: Rule<ChannelSpec>[] = [
  {
    cel: "!has(self.auth) || (self.auth.scheme == 'Header') == has(self.auth.header)",
    message: 'spec.auth.header must be set for the scheme Header, and only for it',
    test: (s) => s.auth === undefined || (s.auth.scheme === 'Header') === (s.auth.header !== undefined),
  },
  {
    cel: `!has(self.headers) || self.headers.all(h, h.matches(r"${HEADER_NAME.source}"))`,
    message:
      'the names in spec.headers must be HTTP header names: letters, digits and dashes, at most 128 characters',
    test: (s) => Object.keys(s.headers ?? {}).every((h) => HEADER_NAME.test(h)),
  },
  {
    cel: `!has(self.headers) || self.headers.all(h, !(h.lowerAscii() in ${JSON.stringify(OWN_HEADERS).replaceAll('"', "'")}))`,
    message: `spec.headers must not contain headers that the gateway sets itself: ${OWN_HEADERS.join(', ')}`,
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
  shortNames: ['slch'],
  description: 'An upstream: its address, its API, how to authenticate, how long to wait.',
  spec,
  status,
  rules,
  columns: [
    { name: 'Type', jsonPath: '.spec.type', type: 'string', description: 'The API of the upstream.' },
    {
      name: 'Healthy',
      jsonPath: '.status.conditions[?(@.type=="Healthy")].status',
      type: 'string',
      description: 'False while proxies report failures.',
    },
    { name: 'URL', jsonPath: '.spec.baseURL', type: 'string', description: 'Base URL.', priority: 1 },
    ...READY_COLUMNS,
  ],
  selectableFields: ['.spec.type'],
})
