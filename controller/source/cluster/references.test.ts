import { expect, test } from 'vitest'
import { KINDS } from '../../../contract/api/index.ts'
import { secretsNamedBy } from './references.ts'

test('every Secret that a channel refers to is read', () => {
  const spec = KINDS.Channel.spec.parse({
    type: 'responses',
    baseURL: 'https://a.example',
    secretRef: { name: 'credential' },
    tls: { caRef: { name: 'authority' }, clientCertificateRef: { name: 'certificate' } },
  })
  const metadata = { namespace: 'team', name: 'c', generation: 1, createdAt: 0 }
  expect(secretsNamedBy({ kind: 'Channel', metadata, spec })).toEqual(
    new Set(['team/credential', 'team/authority', 'team/certificate']),
  )
})
