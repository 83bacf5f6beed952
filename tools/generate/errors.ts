/** docs/errors.md: the error codes that clients get. */
import { CATALOGUE, type FaultDomain } from '../../proxy/errors.ts'
import { code, NOTICE, page, table } from './markdown.ts'

const DOMAINS: Record<FaultDomain, string> = {
  caller: 'the request is at fault; retrying it unchanged does not help',
  policy: 'the request is valid, but the key or its account may not send it',
  upstream: 'every upstream that could serve the request failed',
  gateway: 'the gateway or its store is at fault or full; try again later',
}

export function errorsPage(): string {
  return page([
    '# Errors',
    NOTICE,
    'Every error has a `code`, in a body of the client’s own dialect. The type columns are the error types that each ' +
      'family of SDKs knows. An upstream’s own 413 or 422 keeps its status. Which statuses each path may answer, and ' +
      'the bodies, are in [openapi.yaml](openapi.yaml).',
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
    'SDKs retry by themselves after 408, 409, 429 and 5xx, and wait as long as `Retry-After` says. An answer has ' +
      '`x-should-retry: false` if no retry can change it: a 502 because no channel serves the model, or because every ' +
      'upstream refused the credential of its channel, its quota or the model.',
    'The domain is who caused the error. It is a label of the error metric:',
    Object.entries(DOMAINS)
      .map(([domain, meaning]) => `- ${code(domain)}: ${meaning}.`)
      .join('\n'),
  ])
}

function sdksRetry(entry: { status: number; retry?: false }): boolean {
  return entry.retry !== false && ([408, 409, 429].includes(entry.status) || entry.status >= 500)
}
