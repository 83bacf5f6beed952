/** docs/errors.md: the codes that clients meet. */
import { CATALOGUE, type FaultDomain } from '../../proxy/errors.ts'
import { code, NOTICE, page, table } from './markdown.ts'

const DOMAINS: Record<FaultDomain, string> = {
  caller: 'the request is at fault; sending it again unchanged does not help',
  policy: 'the request is fine, and the key or its account may not make it',
  upstream: 'every upstream that could serve the request failed',
  gateway: 'the gateway or its store is at fault or full; try again later',
}

export function errorsPage(): string {
  return page([
    '# Errors',
    NOTICE,
    'Every error carries a `code`, in the body of the client’s own dialect; the type columns are the word that each ' +
      'family of SDKs knows for it. An upstream’s own 413 or 422 keeps its status. Which statuses each path may answer, and ' +
      'the bodies, stand in [openapi.yaml](openapi.yaml).',
    table(
      ['Code', 'HTTP status', 'Meaning', 'OpenAI type', 'Anthropic type', 'Domain', 'SDKs retry'],
      Object.entries(CATALOGUE).map(([name, entry]) => [
        code(name),
        String(entry.status),
        entry.meaning,
        code(entry.openaiType),
        code(entry.anthropicType),
        entry.domain,
        sdksRetry(entry) ? 'yes' : 'no',
      ]),
    ),
    'SDKs repeat a request by themselves after 408, 409, 429 and 5xx, and wait as long as `Retry-After` says. An answer that ' +
      'no repetition can change says `x-should-retry: false`: of 502, where no upstream serves the model, or where each ' +
      'one refuses the credential of its channel, its quota or the model.',
    'The domain says whose fault it is, and labels the error metric:',
    Object.entries(DOMAINS)
      .map(([domain, meaning]) => `- ${code(domain)}: ${meaning}.`)
      .join('\n'),
  ])
}

function sdksRetry(entry: { status: number; retry?: false }): boolean {
  return entry.retry !== false && ([408, 409, 429].includes(entry.status) || entry.status >= 500)
}
