/** docs/environment.md: every setting of the programs. */
import { z } from 'zod'
import { environment } from '../../contract/env.ts'
import { code, NOTICE, page, table } from './markdown.ts'

const setting = z.object({
  description: z.string().min(1),
  default: z.union([z.string(), z.number()]).optional(),
  enum: z.array(z.string()).optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  minLength: z.number().optional(),
})
type Setting = z.output<typeof setting>

export function environmentPage(): string {
  const settings = z
    .object({ properties: z.record(z.string(), setting) })
    .parse(z.toJSONSchema(environment, { io: 'input', target: 'openapi-3.0' })).properties
  return page([
    '# Environment',
    NOTICE,
    'The programs read settings once, at start, and report every bad value. An empty value counts as unset. Durations ' +
      'are text such as `30s`, `5m` or `1h30m`; sizes are in bytes. Names that begin with `SLUICE_` and are not listed ' +
      'here cause a warning.',
    table(
      ['Name', 'Default', 'Values', 'Meaning'],
      Object.entries(settings).map(([name, value]) => [
        code(name),
        code(String(value.default ?? '')),
        values(value),
        value.description,
      ]),
    ),
  ])
}

function values({ enum: words, minimum, maximum, minLength, default: preset }: Setting): string {
  if (words !== undefined) return words.map(code).join(', ')
  if (minimum !== undefined && maximum !== undefined) return `${minimum} to ${maximum}`
  // A setting with a default is longer than its minimum; this is for a token.
  return minLength !== undefined && preset === undefined ? `at least ${minLength} characters` : ''
}
