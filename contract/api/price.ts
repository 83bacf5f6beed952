/** What a model costs: its price for callers, and what its upstream charges. */
import { z } from 'zod'
import { price } from './fields.ts'

/** Service tiers that may have a multiplier; `speed: fast` counts as the tier `fast`. */
type Tier = 'flex' | 'scale' | 'priority' | 'fast' | 'ultrafast'

/** Tiers that cost more at the upstream: without a multiplier, enforced accounts may not request them. */
export const COSTLIER_TIERS: readonly Tier[] = ['priority', 'fast', 'ultrafast']

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

/** Dollars as decimal text; of tokens per million. */
export const priceFields = () =>
  z.strictObject({
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
      description: 'Dollars per million audio tokens of the prompt; default: the higher of input and output.',
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
        codeInterpreter: price().optional().meta({ description: 'Dollars per run of the code interpreter.' }),
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
