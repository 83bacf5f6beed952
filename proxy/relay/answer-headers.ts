/** Chooses the headers of an upstream's answer that a caller of the relay gets. */
import { type IncomingHttpHeaders, validateHeaderValue } from 'node:http'

const PASSED = /^(?:content-type|content-encoding|retry-after(?:-ms)?|x-should-retry)$/
/** The quota of the caller's key. */
const QUOTA = /^(?:anthropic|x)-ratelimit-[a-z0-9-]+$/
const UPSTREAM_ID = ['request-id', 'x-request-id']

/** Any server's answer appears under the gateway's host name: browsers must not run or store it. */
const OWN = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'content-security-policy': 'sandbox',
}

/** Names in lower case. Leaves out values that cannot be written as a header. */
export function answerHeaders(status: number, upstream: IncomingHttpHeaders): Record<string, string> {
  const headers: Record<string, string> = {}
  const pass = (name: string, value: string | string[] | undefined) => {
    const text = Array.isArray(value) ? value.join(', ') : value
    if (text !== undefined && isWritable(name, text)) headers[name] = text
  }
  for (const [name, value] of Object.entries(upstream))
    if (PASSED.test(name) || QUOTA.test(name)) pass(name, value)
  const length = upstream['content-length']
  if (hasBody(status) && length !== undefined && /^\d{1,15}$/.test(length)) pass('content-length', length)
  for (const name of UPSTREAM_ID)
    headers['x-upstream-request-id'] ?? pass('x-upstream-request-id', upstream[name])
  return { ...headers, ...OWN }
}

/** RFC 9110, section 6.4.1, for answers to a POST. */
function hasBody(status: number): boolean {
  return status !== 204 && status !== 304
}

function isWritable(name: string, value: string): boolean {
  try {
    validateHeaderValue(name, value)
    return true
  } catch {
    return false
  }
}
