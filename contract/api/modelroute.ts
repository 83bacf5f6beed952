import { z } from 'zod'
import { RETRYABLE_CLASSES } from '../failures.ts'
import { PROFILES } from '../profiles.ts'
import { amountWithinLedger, duration, objectName } from './fields.ts'
import { defineKind, type Rule } from './kind.ts'
import { priceFields } from './price.ts'
import { READY_COLUMNS, statusOf } from './status.ts'

/** Limits on output tokens for clients that set none. */
export const OUTPUT_LIMITS = ['Funds', 'Held', 'None'] as const

const spec = z.strictObject({
  model: z
    .string()
    .min(1)
    .max(256)
    .regex(/^[^*\s][^*\s]*\*?$|^\*$/, 'must be a name without spaces, with * only at its end, such as gpt-*')
    .meta({
      description:
        'Model name as clients send it. A trailing `*` matches any rest, and the rest is the name of the upstream model. ' +
        'An exact name wins over a wildcard, and a longer wildcard over a shorter one.',
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
        'Models of a wildcard that the model list shows, with names as clients send them. The wildcard serves other ' +
        'models, too.',
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
              'Model name to send to the upstream; `*` in it stands for the text that the wildcard matched. Default: the ' +
              'client’s model, or the text that the wildcard matched.',
          }),
        priority: z
          .int()
          .min(0)
          .max(1000)
          .default(0)
          .meta({ description: 'Channels with a lower number are tried first.' }),
        weight: z.int().min(0).max(1_000_000).default(1).meta({
          description: 'Share of the requests among channels of the same priority; 0 gets none.',
        }),
        profile: z
          .enum(PROFILES)
          .optional()
          .meta({ description: 'Profile of this model on this channel; default: that of the channel.' }),
        cost: priceFields().optional().meta({
          description:
            'What the upstream charges for a request, as price; for the margin in `sluice usage`. Callers never see it.',
        }),
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
            'Session: requests of one session stay on one channel, unless it is ejected. The session is taken from the ' +
            'header x-session-affinity, the header of a known coding agent, or prompt_cache_key. In either mode, a ' +
            'conversation that continues an earlier answer returns to its channel.',
        }),
      ttl: duration()
        .default('1h')
        .meta({ description: 'How long a session is remembered after its last request.' }),
    })
    .optional()
    .meta({ description: 'Whether requests of one session stay on one channel.' }),
  retry: z
    .strictObject({
      attempts: z
        .int()
        .min(1)
        .max(5)
        .default(3)
        .meta({ description: 'Total number of attempts, including the first.' }),
      classes: z
        .array(z.enum(RETRYABLE_CLASSES))
        .max(16)
        .optional()
        .meta({ description: 'Failure classes after which a request is retried; default: all of them.' }),
      // Without this field, the API server would silently drop it; a rule refuses it and tells its new name.
      on: z
        .array(z.string().max(64))
        .max(16)
        .optional()
        .meta({ description: 'Refused: write classes instead.' }),
      perTryTimeout: duration()
        .optional()
        .meta({ description: 'Time until the answer of an attempt begins.' }),
    })
    .optional()
    .meta({ description: 'What happens after a failed attempt.' }),
  conversion: z
    .strictObject({
      unsupported: z.enum(['Drop', 'Reject']).default('Drop').meta({
        description:
          'What to do with fields that the upstream’s API cannot express: drop and report them, or answer 400.',
      }),
    })
    .optional()
    .meta({ description: 'How requests are converted to another API.' }),
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
      'Output tokens to hold funds for when the client sets no limit; default 4096. Also shown in the model list.',
  }),
  outputLimit: z
    .enum(OUTPUT_LIMITS)
    .optional()
    .meta({
      description:
        'Limit on output tokens that the upstream gets when the client of an enforced account sets none. Funds: as many as ' +
        'the account can pay for, but only where that is less than contextLength, or 128,000 without one. Held: as many ' +
        'as funds are held for (maxOutputTokens, else 4096). None: no limit. Default Funds.',
    }),
  contextLength: z.int().min(1).max(1_000_000_000).optional().meta({
    description: 'Context window, for the model list and as a bound on what an upstream may charge.',
  }),
  price: priceFields()
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
        .meta({ description: 'Owner of the model; `owned_by` in the model list.' }),
    })
    .optional()
    .meta({ description: 'How the model list shows the model.' }),
})
export type ModelRouteSpec = z.output<typeof spec>

const status = statusOf({
  endpoints: z
    .array(z.string().max(64))
    .max(16)
    .optional()
    .meta({ description: 'Endpoints that the route can serve.' }),
})

const PRICE_FIELDS = [
  'input',
  'cachedInput',
  'cacheWrite',
  'cacheWriteLong',
  'output',
  'imageInput',
  'audioInput',
  'audioOutput',
  'reasoning',
  'perRequest',
  'perImage',
] as const

/** One of these makes a price. */
const COMPLETE = ['input', 'output', 'perRequest', 'perImage'] as const

const rules: Rule<ModelRouteSpec>[] = [
  {
    cel: '!has(self.retry) || !has(self.retry.on)',
    message: 'spec.retry.on is now spec.retry.classes; rename it',
    test: (s) => s.retry?.on === undefined,
  },
  {
    cel: "!has(self.listed) || self.model.endsWith('*')",
    message: 'spec.listed is only allowed if spec.model ends in *; remove it',
    test: (s) => s.listed === undefined || s.model.endsWith('*'),
  },
  {
    cel: "!has(self.listed) || !self.model.endsWith('*') || self.listed.all(m, m.size() >= self.model.size() && m.startsWith(self.model.substring(0, self.model.size() - 1)))",
    message:
      'spec.listed contains a model that spec.model does not match; each must begin with the text before the * and be longer',
    // CEL counts code points.
    test: ({ listed = [], model }) =>
      !model.endsWith('*') ||
      listed.every((name) => [...name].length >= [...model].length && name.startsWith(model.slice(0, -1))),
  },
  {
    cel: '!has(self.price) || has(self.price.input) == has(self.price.output)',
    message: 'spec.price has only one of input and output; set both ("0" is a price)',
    test: (s) => s.price === undefined || (s.price.input === undefined) === (s.price.output === undefined),
  },
  {
    cel: '!(has(self.price) && has(self.free) && self.free)',
    message: 'spec has both price and free: true; keep one of them',
    test: (s) => !(s.price !== undefined && s.free === true),
  },
  {
    cel: `!has(self.price) || ${COMPLETE.map((f) => `has(self.price.${f})`).join(' || ')}`,
    message:
      'spec.price needs input and output, perRequest or perImage; set free: true for a model that costs nothing',
    test: (s) => s.price === undefined || COMPLETE.some((field) => s.price?.[field] !== undefined),
  },
  {
    cel: '!has(self.price) || !has(self.price.above) || self.price.above.all(a, self.price.above.filter(b, b.tokens == a.tokens).size() == 1)',
    message: 'spec.price.above names a number of tokens twice; remove one of the entries',
    test: ({ price }) =>
      new Set(price?.above?.map(({ tokens }) => tokens)).size === (price?.above?.length ?? 0),
  },
  {
    cel: '!has(self.price) || !has(self.price.above) || has(self.price.input)',
    message: 'spec.price.above needs spec.price.input and output, for shorter prompts',
    test: ({ price }) => price?.above === undefined || price.input !== undefined,
  },
  {
    cel: '!has(self.price) || !has(self.price.images) || has(self.price.perImage)',
    message: 'spec.price.images needs spec.price.perImage, for other sizes and qualities',
    test: ({ price }) => price?.images === undefined || price.perImage !== undefined,
  },
  ...PRICE_FIELDS.map((field) =>
    amountWithinLedger<ModelRouteSpec>(`price.${field}`, (s) => s.price?.[field]),
  ),
]

export const modelRoute = defineKind({
  kind: 'ModelRoute',
  shortNames: ['mr'],
  description: 'A model name that clients send: which channels serve it, and what it costs.',
  spec,
  status,
  rules,
  columns: [
    { name: 'Model', jsonPath: '.spec.model', type: 'string', description: 'Model name that clients send.' },
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
