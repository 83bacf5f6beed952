/** How the gateway reaches upstreams and Redis. */
import { list, path, proxyUrl } from './fields.ts'

export const outboundSettings = {
  SLUICE_HTTP_PROXY: proxyUrl().describe(
    'HTTP proxy for channels with an http:// address, with user and password where it wants them; default HTTP_PROXY. ' +
      'Loopback addresses are always called directly.',
  ),
  SLUICE_HTTPS_PROXY: proxyUrl().describe(
    'HTTP proxy for channels with an https:// address, asked to CONNECT; default HTTPS_PROXY.',
  ),
  SLUICE_NO_PROXY: list().describe(
    'Which channels are called directly, separated by commas: hosts with all below them, with a port or without, addresses ' +
      'and CIDR ranges (of channels that have an address for a host), * for all; default NO_PROXY.',
  ),
  SLUICE_UPSTREAM_CA_FILE: path().describe(
    'PEM file of authorities that may vouch for channels and HTTP proxies, beside the public ones; a channel with a caRef ' +
      'trusts that alone. Read at start.',
  ),
  SLUICE_REDIS_CA_FILE: path().describe(
    'PEM file of the authorities that vouch for Redis, in place of the public ones. This file and the next two are read ' +
      'for each new connection.',
  ),
  SLUICE_REDIS_CERT_FILE: path().describe('PEM file of the certificate that Redis is shown.'),
  SLUICE_REDIS_KEY_FILE: path().describe('PEM file of its private key, without a passphrase.'),
}
