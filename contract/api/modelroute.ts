import { z } from 'zod'
import { RETRYABLE_CLASSES } from '../failures.ts'
import { PROFILES } from '../profiles.ts'
import { amountWithinLedger, duration, objectName, price } from './fields.ts'
import { defineKind, type Rule } from './kind.ts'
import { READY_COLUMNS, statusOf } from './status.ts'

/** Service tiers that may have a multiplier; `speed: fast` counts as the tier `fast`. */
type Tier = 'flex' | 'scale' | 'priority' | 'fast' | 'ultrafast'

/** Tiers that cost more at the upstream: without a multiplier, enforced accounts may not request them. */
export const COSTLIER_TIERS: readonly Tier[] = ['priority', 'fast', 'ultrafast']

/** Limits on output tokens for clients that set none. */
export const OUTPUT_LIMITS = ['Funds', 'Held', 'None'] as const

/** A factor below 1000, so that it is a safe integer in billionths. */
const multiplier = (tier: Tier) =>
  z
    .string()
    .regex(
      /^[0-9]{1,3}(\.[0-9]{1,9})?$/,
      'must be a factor as decimal text, below 1000 with at most 9 decimals, such as "1.5"',
    )
    .max(13)
    .optional()
    .meta({ description: `Factor for the ${tier} tier, such as "1.5".` })

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
  price: z
    .strictObject({
      input: price().optional().meta({ description: 'Dollars per million input tokens.' }),
      cachedInput: price()
        .optional()
        .meta({ description: 'Dollars per million tokens read from a cache; default: input.' }),
      cacheWrite: price()
        .optional()
        .meta({ description: 'Dollars per million tokens written to a cache; default: input.' }),
      cacheWriteLong: price().optional().meta({
        description: 'Dollars per million tokens written to a long-lived cache; default: cacheWrite.',
      }),
      output: price().optional().meta({
        description: 'Dollars per million output tokens; "0" for embeddings, which have none.',
      }),
      imageInput: price()
        .optional()
        .meta({
          description:
            'Dollars per million image tokens of the prompt, where the upstream reports them apart; default: audioInput, else the ' +
            'higher of input and output.',
        }),
      audioInput: price().optional().meta({
        description:
          'Dollars per million audio tokens of the prompt; default: the higher of input and output.',
      }),
      audioOutput: price().optional().meta({
        description:
          'Dollars per million audio tokens of the answer; default: the highest of input, output and audioInput.',
      }),
      reasoning: price()
        .optional()
        .meta({ description: 'Dollars per million reasoning tokens; default: output.' }),
      perCall: z
        .strictObject({
          webSearch: price().optional().meta({ description: 'Dollars per web search.' }),
          fileSearch: price().optional().meta({ description: 'Dollars per file search.' }),
          codeInterpreter: price()
            .optional()
            .meta({ description: 'Dollars per run of the code interpreter.' }),
        })
        .optional()
        .meta({
          description:
            'Dollars per call of a tool that the upstream runs. Enforced accounts may not request such a tool without a price.',
        }),
      above: z
        .array(
          z.strictObject({
            tokens: z
              .int()
              .min(1)
              .max(1_000_000_000)
              .meta({ description: 'Tokens of the prompt, all kinds together.' }),
            input: price().meta({ description: 'Dollars per million input tokens.' }),
            cachedInput: price().optional().meta({ description: 'Default: input.' }),
            cacheWrite: price().optional().meta({ description: 'Default: input.' }),
            cacheWriteLong: price().optional().meta({ description: 'Default: cacheWrite.' }),
            output: price().meta({ description: 'Dollars per million output tokens.' }),
            imageInput: price().optional().meta({ description: 'See price.imageInput.' }),
            audioInput: price().optional().meta({ description: 'See price.audioInput.' }),
            audioOutput: price().optional().meta({ description: 'See price.audioOutput.' }),
            reasoning: price().optional().meta({ description: 'Default: output.' }),
          }),
        )
        .min(1)
        .max(8)
        .optional()
        .meta({
          description:
            'Token prices of whole requests whose prompt has more than so many tokens, such as "above 200000". Rising.',
        }),
      perRequest: price().optional().meta({ description: 'Dollars per request.' }),
      perImage: price()
        .optional()
        .meta({
          description:
            'Dollars per generated image, on top of its tokens. Enough on its own only if all channels have the type ' +
            'images.',
        }),
      images: z
        .array(
          z.strictObject({
            size: z
              .string()
              .regex(/^[1-9][0-9]{0,4}x[1-9][0-9]{0,4}$/, 'must be <width>x<height>, such as "1024x1024"')
              .max(20)
              .optional()
              .meta({ description: 'Default: any size.' }),
            quality: z
              .string()
              .regex(/^[a-z0-9_-]+$/, 'must be lower-case letters, digits, - and _ only, such as "high"')
              .min(1)
              .max(32)
              .optional()
              .meta({ description: 'Default: any quality.' }),
            amount: price().meta({ description: 'Dollars per image.' }),
          }),
        )
        .min(1)
        .max(32)
        .optional()
        .meta({
          description:
            'Instead of perImage: prices by size and quality. The first entry that matches counts. What the answer says ' +
            'it made counts, else what was requested; where both leave it open, the most expensive image that it may be.',
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
        .meta({ description: 'Factor on the whole cost of a request that is served on that tier.' }),
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
