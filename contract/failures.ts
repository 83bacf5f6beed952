/**
 * Classes of failed attempts. Retries, fall-over and ejection depend on the class, never on an upstream's text.
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

/** Classes after which another attempt may help. A caller's fault fails on every channel. */
export const RETRYABLE_CLASSES = FAILURE_CLASSES.filter((c) => c !== 'caller_fault')
