/**
 * Builds the request to a channel from its address, credential and headers. It contains nothing of the client's
 * headers.
 */

import type { Readable } from 'node:stream'
import { endpointBase } from '../../contract/channel-types.ts'
import type { ChannelRecord } from '../../contract/table/records.ts'
import type { UpstreamRequest } from '../outbound/request.ts'

/** The parts of a request that the dialect decides. */
export interface Content {
  /** Path of the endpoint, for example `/chat/completions`. */
  path: string
  /** Pieces are sent one after the other. */
  body: Buffer | readonly Buffer[] | Readable
  /** Absent: application/json. */
  contentType?: string | undefined
  /** Names in lower case. */
  headers?: Record<string, string>
}

/** The channel's headers win over those of the dialect, and over the credential. */
export function upstreamRequest(
  channel: ChannelRecord,
  { path, body, contentType = JSON_TYPE, headers: dialect }: Content,
  accept: Accept,
): UpstreamRequest {
  const { origin, base, query, headers, usual } = fixedOf(channel)
  const isUsual = contentType === JSON_TYPE && (dialect === undefined || Object.keys(dialect).length === 0)
  return {
    origin,
    path: withQuery(base + path, query),
    headers: isUsual ? usual[accept] : headersOf(accept, dialect, headers, contentType),
    body,
  }
}

type Accept = 'application/json' | 'text/event-stream'

const JSON_TYPE = 'application/json'

function headersOf(
  accept: Accept,
  dialect: UpstreamRequest['headers'] | undefined,
  channel: UpstreamRequest['headers'],
  contentType: string,
): UpstreamRequest['headers'] {
  const own = { 'content-type': contentType, 'accept-encoding': 'identity' }
  return { accept, 'user-agent': 'sluice', ...dialect, ...channel, ...own }
}

/** Path of the URL of such a request, without its query. */
export function pathOf(channel: ChannelRecord, path: string): string {
  return fixedOf(channel).base + path.replace(/\?.*/, '')
}

/** The parts that all requests of a channel share. */
interface Fixed {
  origin: string
  /** Path below which the endpoints are. */
  base: string
  query: string
  /** Of the channel. */
  headers: Record<string, string>
  /** All headers of a request in JSON to which the dialect adds none. */
  usual: Record<Accept, Record<string, string>>
}

/** Built once for each record: parsing a URL costs more than this look-up. */
const fixedParts = new WeakMap<ChannelRecord, Fixed>()

function fixedOf(channel: ChannelRecord): Fixed {
  const known = fixedParts.get(channel)
  if (known !== undefined) return known
  const headers: Record<string, string> = credentialHeader(channel.auth)
  for (const [name, value] of Object.entries(channel.headers)) headers[name.toLowerCase()] = value
  const { origin, pathname } = new URL(channel.baseURL)
  const base = endpointBase(channel.type, pathname)
  const usualFor = (accept: Accept) => headersOf(accept, undefined, headers, JSON_TYPE)
  const usual = {
    'application/json': usualFor('application/json'),
    'text/event-stream': usualFor('text/event-stream'),
  }
  const fixed = { origin, base, query: queryOf(channel), headers, usual }
  fixedParts.set(channel, fixed)
  return fixed
}

/** A path may have a query of its own. */
function withQuery(path: string, query: string): string {
  return path.includes('?') && query !== '' ? `${path}&${query.slice(1)}` : path + query
}

function queryOf(channel: ChannelRecord): string {
  const query = new URLSearchParams(channel.query).toString()
  return query === '' ? '' : `?${query}`
}

/** Names in lower case. Empty without a secret. */
export function credentialHeader(auth: ChannelRecord['auth']): Record<string, string> {
  if (auth.secret === undefined) return {}
  switch (auth.scheme) {
    case 'Bearer':
      return { authorization: `Bearer ${auth.secret}` }
    case 'XApiKey':
      return { 'x-api-key': auth.secret }
    case 'Header':
      return auth.header === undefined ? {} : { [auth.header.toLowerCase()]: auth.secret }
    case 'None':
      return {}
  }
}
