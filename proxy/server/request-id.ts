import { randomUUID } from 'node:crypto'

/** Unique for ever (122 random bits): it is the id of the hold, too. */
export function newRequestId(): string {
  return `req_${randomUUID().replaceAll('-', '')}`
}
