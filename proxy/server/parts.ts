import type { Ports } from '../pipeline/ports.ts'
import type { Shutdown } from '../pipeline/request/shutdown.ts'
import type { Overload } from './overload.ts'

/** Needed to serve a call, however it arrives. */
export interface ServerParts {
  ports: Ports
  overload: Overload
  shutdown: Shutdown
  /** Reports a fault of the gateway. `error` may be logged; the client must not see it. */
  unexpected(error: unknown, requestId: string): void
}
