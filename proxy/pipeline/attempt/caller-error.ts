/** What a client is told of a failed attempt that is its own fault. */
import { sanitised } from '../../dialects/core/errors/sanitise.ts'
import type { GatewayError, UpstreamFailure } from '../../errors.ts'
import type { PlannedTarget } from '../route.ts'
import { secretsOf } from './secrets.ts'

/** Undefined for failures that are not the caller's. `clientModel`: as the client named it. */
export function callerError(
  { forCaller, words }: Pick<UpstreamFailure, 'forCaller' | 'words'>,
  { channel, model: upstreamModel }: Pick<PlannedTarget, 'channel' | 'model'>,
  clientModel: string,
): GatewayError | undefined {
  if (forCaller === undefined || words === undefined || channel.errorMessages === 'Generic') return forCaller
  const { hostname } = new URL(channel.baseURL)
  const known = { secrets: secretsOf(channel), host: hostname, upstreamModel, clientModel }
  const message = sanitised(words.read(), known)
  return message === undefined ? forCaller : forCaller.saying(message)
}
