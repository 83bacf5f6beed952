/** How the gateway reaches upstreams and Redis. */
import { list, proxyUrl, text } from './fields.ts'

export const outboundSettings = {
  SLUICE_HTTP_PROXY: proxyUrl().describe(
    'HTTP proxy for channels with an http:// address, with user and password if it needs them; default HTTP_PROXY. ' +
      'Loopback addresses are always called directly.',
  ),
  SLUICE_HTTPS_PROXY: proxyUrl().describe(
    'HTTP proxy for channels with an https:// address, used with CONNECT; default HTTPS_PROXY.',
  ),
  SLUICE_NO_PROXY: list().describe(
    'Channels that are called without a proxy, separated by commas: host names (subdomains included) with or without a port, ' +
      'addresses and CIDR ranges (for channels whose host is an address), or * for all; default NO_PROXY.',
  ),
  SLUICE_UPSTREAM_CA_FILE: text().describe(
    'PEM file of certificate authorities that are trusted for channels and HTTP proxies, in addition to the public ones. ' +
      'A channel with a caRef trusts only that. Read at start.',
  ),
  SLUICE_REDIS_CA_FILE: text().describe(
    'PEM file of the certificate authorities that are trusted for Redis, instead of the public ones. This file and the next ' +
      'two are read for each new connection.',
  ),
  SLUICE_REDIS_CERT_FILE: text().describe('PEM file of the client certificate for Redis.'),
  SLUICE_REDIS_KEY_FILE: text().describe('PEM file of its private key, without a passphrase.'),
}
