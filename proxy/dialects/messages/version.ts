/** The version header of the messages API: https://docs.anthropic.com/en/api/versioning */

/** Sent to upstreams when the client sends none. */
export const API_VERSION = '2023-06-01'

/** Beta that some models require for `speed: fast`. */
export const FAST_BETA = 'fast-mode-2026-02-01'

/** The headers for a body that the upstream gets as the client wrote it. */
export function versionHeaders(body: Record<string, unknown>): Record<string, string> {
  const version = { 'anthropic-version': API_VERSION }
  return Object.hasOwn(body, 'speed') ? { ...version, 'anthropic-beta': FAST_BETA } : version
}
