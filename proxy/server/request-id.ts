import { randomBytes } from 'node:crypto'

/** Unique for ever (96 random bits): it is the id of the hold, too. */
export function newRequestId(): string {
  return `req_${randomBytes(12).toString('hex')}`
}
