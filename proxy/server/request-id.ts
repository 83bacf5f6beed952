import { randomUUID } from 'node:crypto'

/** Unique forever (122 random bits), because it is also the id of the hold. */
export function newRequestId(): string {
  return `req_${randomUUID().replaceAll('-', '')}`
}
