import { randomFillSync } from 'node:crypto'

const ID_BYTES = 16
/** Random bytes for many ids: to ask for them costs more than to use them. */
const POOL = Buffer.alloc(256 * ID_BYTES)
let used = POOL.length

/** Unique forever (128 random bits), because it is also the id of the hold. */
export function newRequestId(): string {
  if (used === POOL.length) {
    randomFillSync(POOL)
    used = 0
  }
  used += ID_BYTES
  return `req_${POOL.toString('hex', used - ID_BYTES, used)}`
}
