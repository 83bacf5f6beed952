/** Whose conversations and sealed state are whose: the account's, or the key's where nobody pays. */
import type { Caller } from '../auth/authenticate.ts'

export function ownerOf({ account, key }: Caller): string {
  return account?.id ?? key.id
}
