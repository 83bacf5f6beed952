/** How the gateway reaches upstreams and Redis. */
import { list, path, proxyUrl } from './fields.ts'

export const outboundSettings = {
  SLUICE_HTTP_PROXY: proxyUrl().describe(
    'HTTP proxy for channels with an http:// address; default HTTP_PROXY. Loopback addresses are always called directly.',
  ),
  SLUICE_HTTPS_PROXY: proxyUrl().describe(
    'HTTP proxy for channels with an https:// address; default HTTPS_PROXY.',
  ),
  SLUICE_NO_PROXY: list().describe(
    'Hosts, .domains, addresses and CIDR ranges of channels that are called directly, separated by commas; default NO_PROXY.',
  ),
  SLUICE_UPSTREAM_CA_FILE: path().describe(
    'PEM file of authorities that channels may be vouched for by, beside the public ones; a channel’s own caRef goes before it.',
  ),
  SLUICE_REDIS_CA_FILE: path().describe(
    'PEM file of the authorities that vouch for Redis, in place of the public ones.',
  ),
  SLUICE_REDIS_CERT_FILE: path().describe('PEM file of the certificate that Redis is shown.'),
  SLUICE_REDIS_KEY_FILE: path().describe('PEM file of its private key.'),
}
