/** Records for the tests of this folder and of those that use it. */
import type { AccountRecord, KeyRecord } from '../../contract/table/records.ts'

export function testKey(changes: Partial<KeyRecord> = {}): KeyRecord {
  return {
    version: 1,
    id: 'key-id',
    namespace: 'default',
    name: 'alice',
    preview: '...1234',
    disabled: false,
    models: [],
    allowedIPs: [],
    ...changes,
  }
}

export function testAccount(changes: Partial<AccountRecord> = {}): AccountRecord {
  return {
    version: 1,
    id: 'account-id',
    namespace: 'default',
    name: 'team',
    disabled: false,
    enforced: true,
    overdraft: 0,
    ...changes,
  }
}
