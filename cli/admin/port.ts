/** The admin port of one program, wherever it is. */

import { z } from 'zod'
import { jsonOf, withoutEnd } from '../../contract/text.ts'

export interface AdminPort {
  /** Its name in messages. */
  name: string
  /** Reads a guarded page as JSON. Rejects with AdminFailure. */
  get(path: string, query?: Readonly<Record<string, string>>): Promise<unknown>
}

/** The admin ports that a command reads. */
export interface Ports {
  ports: AdminPort[]
  close(): Promise<void>
}

/** The page could not be read; the message tells the operator why. */
export class AdminFailure extends Error {
  override name = 'AdminFailure'
  /** HTTP status; 0 if there was no answer. */
  readonly status: number
  constructor(status: number, message: string, cause?: unknown) {
    super(message, { cause })
    this.status = status
  }
}

const TIMEOUT_MS = 10_000
const refusal = z.object({ error: z.string() })

/** An admin port at an address, such as http://127.0.0.1:8081. */
export function httpPort(url: string, token: string | undefined): AdminPort {
  return {
    name: url,
    async get(path, query = {}) {
      const search = new URLSearchParams(query).toString()
      const address = `${withoutEnd(url, '/')}${path}${search === '' ? '' : `?${search}`}`
      const headers = token === undefined ? {} : { 'x-sluice-admin-token': token }
      const response = await fetch(address, {
        headers,
        redirect: 'error',
        signal: AbortSignal.timeout(TIMEOUT_MS),
      }).catch((error: unknown) => {
        throw new AdminFailure(0, `cannot be reached (${reasonOf(error)})`, error)
      })
      const text = await response.text().catch((error: unknown) => {
        throw new AdminFailure(0, `ended its answer too early (${reasonOf(error)})`, error)
      })
      if (!response.ok) throw new AdminFailure(response.status, refusalText(response.status, text))
      return parsed(text)
    },
  }
}

/** Explains an answer other than 200. */
export function refusalText(status: number, body: string): string {
  if (status === 403) return 'refuses access: set SLUICE_ADMIN_TOKEN to its admin token'
  const parsed = refusal.safeParse(jsonOf(body))
  return parsed.success ? parsed.data.error : `answers ${status}`
}

function parsed(text: string): unknown {
  const value = jsonOf(text)
  if (value === undefined) throw new AdminFailure(200, 'gives an answer that is not an admin page')
  return value
}

/** The system's error code, such as ECONNREFUSED; never an address or a token. */
function reasonOf(error: unknown): string {
  if (error instanceof Error && error.name === 'TimeoutError') return 'no answer in time'
  const cause = error instanceof Error ? error.cause : undefined
  return cause instanceof Error && 'code' in cause && typeof cause.code === 'string'
    ? cause.code
    : 'no connection'
}
