/** The error for a client whose own request made an attempt fail. */
import { sanitised } from '../../dialects/core/errors/sanitise.ts'
import type { GatewayError, UpstreamFailure } from '../../errors.ts'
import type { PlannedTarget } from '../route.ts'
import { secretsOf } from './secrets.ts'

/** Undefined for failures that are not the caller's. `clientModel`: the name that the client used. */
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
