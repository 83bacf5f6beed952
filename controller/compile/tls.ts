/** TLS settings of a channel: the authorities that it trusts and its client certificate. */
import type { ChannelSpec, Resource } from '../../contract/api/index.ts'
import { certificatesIn, keyPairFault } from '../../contract/pem.ts'
import type { ChannelRecord } from '../../contract/table/records.ts'
import { present } from '../../kit/present.ts'
import type { SecretData } from '../snapshot.ts'
import type { Findings } from './conditions.ts'
import { type LookUp, secretEntries } from './secrets.ts'

type Tls = NonNullable<ChannelRecord['tls']>

/** Entries of a Secret of the type kubernetes.io/tls (https://kubernetes.io/docs/concepts/configuration/secret/#tls-secrets). */
const CERT = 'tls.crt'
const KEY = 'tls.key'

/** Undefined for a channel without TLS settings. Unresolved references go to `findings`. */
export function tlsOf(
  { metadata, spec }: Resource<ChannelSpec>,
  secrets: ReadonlyMap<string, SecretData>,
  findings: Findings,
): Tls | undefined {
  if (spec.tls === undefined) return undefined
  const look = secretEntries(secrets, metadata.namespace, findings)
  const refuse = (message: string) => void findings.missing.push({ reason: 'Invalid', message })
  const ca = authorities(spec.tls, look, refuse)
  const clientCertificate = clientCertificateOf(spec.tls, look, refuse)
  return present({ serverName: spec.tls.serverName, ca, clientCertificate })
}

type Settings = NonNullable<ChannelSpec['tls']>

function authorities(
  { caRef }: Settings,
  look: LookUp,
  refuse: (message: string) => void,
): string | undefined {
  if (caRef === undefined) return undefined
  const field = 'spec.tls.caRef'
  const value = look(field, caRef)
  if (value === undefined || certificatesIn(value).length > 0) return value
  refuse(`${field}: the entry ${caRef.key} of the Secret ${caRef.name} has no PEM certificate`)
  return undefined
}

function clientCertificateOf(
  { clientCertificateRef: ref }: Settings,
  look: LookUp,
  refuse: (message: string) => void,
): Tls['clientCertificate'] {
  if (ref === undefined) return undefined
  const field = 'spec.tls.clientCertificateRef'
  const cert = look(field, { name: ref.name, key: CERT })
  // Not if the certificate is missing: a missing Secret is reported once.
  const key = cert && look(field, { name: ref.name, key: KEY })
  if (cert === undefined || key === undefined) return undefined
  const entry = (name: string) => `${field}: the entry ${name} of the Secret ${ref.name}`
  switch (keyPairFault(cert, key)) {
    case undefined:
      return { cert, key }
    case 'certificate':
      refuse(`${entry(CERT)} has no PEM certificate`)
      return undefined
    case 'key':
      refuse(`${entry(KEY)} is not a PEM private key without a passphrase`)
      return undefined
    case 'pair':
      refuse(`${entry(KEY)} does not belong to the certificate in ${CERT}`)
      return undefined
  }
}
