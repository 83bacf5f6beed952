/**
 * What a failed attempt says about key, channel and request. Retry, fall-over and ejection read the class, never
 * an upstream's text.
 */
export const FAILURE_CLASSES = [
  'credential',
  'model_access',
  'quota',
  'model_gone',
  'region_blocked',
  'rate_limit',
  'caller_fault',
  'transient',
  'unknown',
] as const
export type FailureClass = (typeof FAILURE_CLASSES)[number]

/** Classes after which another attempt may help; a caller's fault stays the caller's on every channel. */
export const RETRYABLE_CLASSES = FAILURE_CLASSES.filter((c) => c !== 'caller_fault')
