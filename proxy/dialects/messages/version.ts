/** The version header of the messages API: https://docs.anthropic.com/en/api/versioning */

/** Sent to upstreams when the client names none; every newer body is a subset of it. */
export const API_VERSION = '2023-06-01'

/** Beta that `speed: fast` needs on some models. */
export const FAST_BETA = 'fast-mode-2026-02-01'

/** For an upstream that gets the body as its caller wrote it. */
export function versionHeaders(body: Record<string, unknown>): Record<string, string> {
  const version = { 'anthropic-version': API_VERSION }
  return Object.hasOwn(body, 'speed') ? { ...version, 'anthropic-beta': FAST_BETA } : version
}
