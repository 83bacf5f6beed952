import { z } from 'zod'
import { RETRYABLE_CLASSES } from '../failures.ts'
import { PROFILES } from '../profiles.ts'
import { amountWithinLedger, duration, objectName, price } from './fields.ts'
import { defineKind, type Rule } from './kind.ts'
import { READY_COLUMNS, statusOf } from './status.ts'

/** Service tiers that may carry a multiplier; `fast` is also what `speed: fast` asks for. */
export const TIERS = ['flex', 'scale', 'priority', 'fast', 'ultrafast'] as const
export type Tier = (typeof TIERS)[number]

/** Tiers that cost more at the upstream: without a multiplier an enforced account may not ask for them. */
export const COSTLIER_TIERS: readonly Tier[] = ['priority', 'fast', 'ultrafast']

/** A factor below 1000, so that in billionths it stays a safe integer. */
const multiplier = (tier: Tier) =>
  z
    .string()
    .regex(
      /^[0-9]{1,3}(\.[0-9]{1,9})?$/,
      'must be a factor as decimal text, below 1000 with at most 9 decimals, such as "1.5"',
    )
    .max(13)
    .optional()
    .meta({ description: `Factor of the ${tier} tier, such as "1.5".` })

const spec = z.strictObject({
  model: z
    .string()
    .min(1)
    .max(256)
    .regex(/^[^*\s][^*\s]*\*?$|^\*$/, 'must be a name without spaces, with * only at its end, such as gpt-*')
    .meta({
      description:
        'Model name as clients send it. A trailing `*` matches any rest, and the rest names the upstream model. ' +
        'An exact name beats a wildcard, a longer wildcard a shorter one.',
    }),
  listed: z
    .array(
      z
        .string()
        .min(1)
        .max(256)
        .regex(/^[^*\s]+$/, 'must be the name of a model, without spaces and *'),
    )
    .max(256)
    .optional()
    .meta({
      description:
        'Models that a wildcard is known to have, as clients send them: the model list shows them. The wildcard serves ' +
        'others all the same.',
    }),
  channels: z
    .array(
      z.strictObject({
        name: objectName().meta({ description: 'Name of the Channel.' }),
        model: z
          .string()
          .min(1)
          .max(256)
          .optional()
          .meta({
            description:
              'Model name to send upstream; `*` in it stands for what the wildcard matched. Default: the client’s ' +
              'model, or the rest of a wildcard.',
          }),
        priority: z.int().min(0).max(1000).default(0).meta({ description: 'Lower ones are tried first.' }),
        weight: z.int().min(0).max(1_000_000).default(1).meta({
          description: 'Share among channels of the same priority; 0 gets none.',
        }),
        profile: z
          .enum(PROFILES)
          .optional()
          .meta({ description: 'Profile of this model on that channel; default the channel’s own.' }),
      }),
    )
    .min(1)
    .max(32)
    .meta({ description: 'Channels that serve the model.' }),
  affinity: z
    .strictObject({
      mode: z
        .enum(['None', 'Session'])
        .default('None')
        .meta({
          description:
            'Session keeps the requests of one session on one channel, as long as it does not rest. The session is named ' +
            'by the header x-session-affinity, the header of a known coding agent, or prompt_cache_key. A conversation ' +
            'that goes on from an earlier answer returns to its channel in either mode.',
        }),
      ttl: duration()
        .default('1h')
        .meta({ description: 'How long a session is remembered after its last request.' }),
    })
    .optional()
    .meta({ description: 'Whether requests that belong together stay on one channel.' }),
  retry: z
    .strictObject({
      attempts: z
        .int()
        .min(1)
        .max(5)
        .default(3)
        .meta({ description: 'Attempts in all, the first one included.' }),
      classes: z
        .array(z.enum(RETRYABLE_CLASSES))
        .max(16)
        .optional()
        .meta({ description: 'Failure classes after which another attempt is made; default all of them.' }),
      // Known so that it is refused with a word on its new name, where the API server would drop it in silence.
      on: z
        .array(z.string().max(64))
        .max(16)
        .optional()
        .meta({ description: 'Refused: write classes instead.' }),
      perTryTimeout: duration().optional().meta({ description: 'Until the answer of one attempt begins.' }),
    })
    .optional()
    .meta({ description: 'What happens after a failed attempt.' }),
  conversion: z
    .strictObject({
      unsupported: z.enum(['Drop', 'Reject']).default('Drop').meta({
        description:
          'What to do with fields that the upstream’s API cannot express: drop and tell, or answer 400.',
      }),
    })
    .optional()
    .meta({ description: 'How a request is turned into another API.' }),
  rewriteModel: z
    .boolean()
    .optional()
    .meta({
      description:
        'Shows clients the model name that they asked for instead of the upstream’s. In answers of an upstream that speaks ' +
        'the client’s own API, only that name is replaced; every other byte passes.',
    }),
  maxOutputTokens: z.int().min(1).max(10_000_000).optional().meta({
    description:
      'Output tokens to hold money for when the client names no limit; default 4096. Also shown in the model list.',
  }),
  contextLength: z
    .int()
    .min(1)
    .max(1_000_000_000)
    .optional()
    .meta({ description: 'Context window, for the model list.' }),
  price: z
    .strictObject({
      input: price().optional().meta({ description: 'Dollars per million input tokens.' }),
      cachedInput: price()
        .optional()
        .meta({ description: 'Per million tokens read from a cache; default input.' }),
      cacheWrite: price()
        .optional()
        .meta({ description: 'Per million tokens written to a cache; default input.' }),
      cacheWriteLong: price().optional().meta({
        description: 'Per million tokens written to a long-lived cache; default cacheWrite.',
      }),
      output: price().optional().meta({
        description: 'Dollars per million output tokens; "0" for embeddings, which have none.',
      }),
      perRequest: price().optional().meta({ description: 'Dollars per request.' }),
      perImage: price()
        .optional()
        .meta({
          description:
            'Dollars per generated image, on top of its tokens. Alone it is a price where all channels have the type ' +
            'images.',
        }),
      multipliers: z
        .strictObject({
          flex: multiplier('flex'),
          scale: multiplier('scale'),
          priority: multiplier('priority'),
          fast: multiplier('fast'),
          ultrafast: multiplier('ultrafast'),
        })
        .optional()
        .meta({ description: 'Factor on the whole price of a request that is served on that tier.' }),
    })
    .optional()
    .meta({ description: 'What a request costs. Token prices are per million.' }),
  free: z.boolean().optional().meta({ description: 'True: the model costs nothing.' }),
  display: z
    .strictObject({
      name: z.string().min(1).max(256).optional().meta({ description: 'Name for people.' }),
      description: z.string().max(1024).optional().meta({ description: 'What the model is good for.' }),
      owner: z
        .string()
        .min(1)
        .max(128)
        .optional()
        .meta({ description: 'Who made it; `owned_by` in the model list.' }),
    })
    .optional()
    .meta({ description: 'How the model list shows it.' }),
})
export type ModelRouteSpec = z.output<typeof spec>

const status = statusOf({
  endpoints: z
    .array(z.string().max(64))
    .max(16)
    .optional()
    .meta({ description: 'Endpoints that it can serve.' }),
})
export type ModelRouteStatus = z.output<typeof status>

const PRICE_FIELDS = [
  'input',
  'cachedInput',
  'cacheWrite',
  'cacheWriteLong',
  'output',
  'perRequest',
  'perImage',
] as const

const rules: Rule<ModelRouteSpec>[] = [
  {
    cel: '!has(self.retry) || !has(self.retry.on)',
    message: 'spec.retry.on is called spec.retry.classes; rename it',
    test: (s) => s.retry?.on === undefined,
  },
  {
    cel: "!has(self.listed) || self.model.endsWith('*')",
    message: 'spec.listed goes with a model that ends in *, and only with it; remove it',
    test: (s) => s.listed === undefined || s.model.endsWith('*'),
  },
  {
    cel: "!has(self.listed) || !self.model.endsWith('*') || self.listed.all(m, m.size() >= self.model.size() && m.startsWith(self.model.substring(0, self.model.size() - 1)))",
    message:
      'spec.listed names a model that spec.model does not match; each must go on after what stands before the *',
    // CEL counts code points.
    test: ({ listed = [], model }) =>
      !model.endsWith('*') ||
      listed.every((name) => [...name].length >= [...model].length && name.startsWith(model.slice(0, -1))),
  },
  {
    cel: '!has(self.price) || has(self.price.input) == has(self.price.output)',
    message: 'spec.price names only one of input and output; name both ("0" is a price)',
    test: (s) => s.price === undefined || (s.price.input === undefined) === (s.price.output === undefined),
  },
  {
    cel: '!(has(self.price) && has(self.free) && self.free)',
    message: 'spec says both price and free: true; keep one of them',
    test: (s) => !(s.price !== undefined && s.free === true),
  },
  {
    cel: `!has(self.price) || ${PRICE_FIELDS.filter((f) => !f.startsWith('cache'))
      .map((f) => `has(self.price.${f})`)
      .join(' || ')}`,
    message:
      'spec.price needs input and output, perRequest or perImage; write free: true for a model that costs nothing',
    test: (s) =>
      s.price === undefined ||
      [s.price.input, s.price.output, s.price.perRequest, s.price.perImage].some((p) => p !== undefined),
  },
  ...PRICE_FIELDS.map((field) =>
    amountWithinLedger<ModelRouteSpec>(`price.${field}`, (s) => s.price?.[field]),
  ),
]

export const modelRoute = defineKind({
  kind: 'ModelRoute',
  plural: 'modelroutes',
  singular: 'modelroute',
  shortNames: ['mr'],
  description: 'A model name that clients may ask for: which channels serve it, and what it costs.',
  spec,
  status,
  rules,
  columns: [
    { name: 'Model', jsonPath: '.spec.model', type: 'string', description: 'Name that clients send.' },
    {
      name: 'Endpoints',
      jsonPath: '.status.endpoints',
      type: 'string',
      description: 'Endpoints served.',
      priority: 1,
    },
    ...READY_COLUMNS,
  ],
  selectableFields: ['.spec.model'],
})
