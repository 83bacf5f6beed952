import { z } from 'zod'
import { isAddressRange } from '../address.ts'
import { MAX_GLOB_LENGTH, MAX_GLOB_STARS } from '../glob.ts'
import { instant, reference, secretEntry } from './fields.ts'
import { defineKind } from './kind.ts'
import { budget, budgetRules, budgetStatuses, limitRules, limits } from './limits.ts'
import { READY_COLUMNS, statusOf } from './status.ts'

const spec = z.strictObject({
  accountRef: reference('Account').optional().meta({
    description: 'Account that pays for requests with this key. Without it, requests are not metered.',
  }),
  disabled: z.boolean().optional().meta({ description: 'A disabled key is refused like an unknown one.' }),
  expiresAt: instant().max(64).optional().meta({
    description: 'Time (RFC 3339) from which the key is refused.',
  }),
  models: z
    .array(
      z
        .string()
        .min(1)
        .max(MAX_GLOB_LENGTH)
        .regex(
          new RegExp(`^[^*]*(\\*[^*]*){0,${MAX_GLOB_STARS}}$`),
          `must have at most ${MAX_GLOB_STARS} stars`,
        ),
    )
    .max(256)
    .optional()
    .meta({
      description: 'Models that the key may use, as globs in which `*` matches any characters. Empty: all.',
    }),
  allowedIPs: z.array(z.string().min(2).max(64)).max(256).optional().meta({
    description: 'Client addresses (IPv4, IPv6) or CIDR ranges that may use the key. Empty: any.',
  }),
  limits: limits().optional().meta({ description: 'Limits for this key, beside those of its account.' }),
  budget: budget().optional().meta({
    description: 'How much may be spent with this key in each period, beside what its account allows.',
  }),
  secretRef: secretEntry('key')
    .optional()
    .meta({ description: 'Secret entry that contains the key itself.' }),
  secretRefs: z
    .array(
      secretEntry('key').extend({
        notAfter: instant().max(64).optional().meta({
          description:
            'When this key expires (RFC 3339). From then on it is refused, and its requests in flight are cut off.',
        }),
      }),
    )
    .min(1)
    .max(8)
    .optional()
    .meta({
      description:
        'Secret entries that each contain a key; several while a key is being replaced, the old one with notAfter.',
    }),
  hashes: z
    .array(
      z
        .string()
        .max(64)
        .regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 digest of 64 characters 0-9 and a-f'),
    )
    .min(1)
    .max(8)
    .optional()
    .meta({
      description: 'SHA-256 digests (lower-case hex) of the key; several while a key is being replaced.',
    }),
})
export type ApiKeySpec = z.output<typeof spec>

const status = statusOf({
  preview: z.string().max(160).optional().meta({
    description: 'The end of each key in force, or the start of its digest, to tell keys apart.',
  }),
  secretName: z
    .string()
    .max(253)
    .optional()
    .meta({ description: 'Secret that contains the key; the first of several.' }),
  budgets: budgetStatuses(),
})

export const apiKey = defineKind({
  kind: 'ApiKey',
  shortNames: ['ak'],
  description: 'A key that clients send: which models it may use, from where, and who pays.',
  spec,
  status,
  rules: [
    ...limitRules<ApiKeySpec>((s) => s.limits),
    ...budgetRules<ApiKeySpec>((s) => s.budget),
    {
      cel: '[has(self.secretRef), has(self.secretRefs), has(self.hashes)].filter(given, given).size() <= 1',
      message: 'spec has more than one of secretRef, secretRefs and hashes; keep one of them',
      test: (s) => [s.secretRef, s.secretRefs, s.hashes].filter((given) => given !== undefined).length <= 1,
    },
    {
      cel: '!has(self.allowedIPs) || self.allowedIPs.all(a, isIP(a) || isCIDR(a))',
      message: 'spec.allowedIPs must be addresses and CIDR ranges such as 192.0.2.7 or 2001:db8::/32',
      test: (s) => (s.allowedIPs ?? []).every(isAddressRange),
    },
  ],
  columns: [
    { name: 'Account', jsonPath: '.spec.accountRef.name', type: 'string', description: 'Account that pays.' },
    { name: 'Key', jsonPath: '.status.preview', type: 'string', description: 'The end of the key.' },
    {
      name: 'Expires',
      jsonPath: '.spec.expiresAt',
      type: 'string',
      description: 'When it expires.',
      priority: 1,
    },
    ...READY_COLUMNS,
  ],
  selectableFields: ['.spec.accountRef.name'],
})
