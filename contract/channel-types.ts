/** What controller and proxy know of each type of channel, whatever its profile. */
import type { ApiName, ChannelType } from './apis.ts'
import type { Features } from './features.ts'
import { withoutEnd } from './text.ts'

interface ChannelTypeFacts {
  /** The API that requests are converted into; absent: only requests of the same API reach it. */
  api?: ApiName
  /** How the credential is sent where a Channel does not say. */
  auth: { scheme: 'Bearer' | 'XApiKey' } | { scheme: 'Header'; header: string }
  /** The first segment of the API's paths. */
  version: string
  /** SDKs take a base URL without the version, and add it; the others take one with it. */
  addsVersion?: true
  /** Features of an upstream with the profile generic, where they differ from those of other types. */
  features?: Partial<Features>
  /** Answers every request with images. */
  imagesOnly?: true
}

export const CHANNEL_TYPE_FACTS: Readonly<Record<ChannelType, ChannelTypeFacts>> = {
  chat_completion: { api: 'chat', auth: { scheme: 'Bearer' }, version: '/v1' },
  responses: {
    api: 'responses',
    auth: { scheme: 'Bearer' },
    version: '/v1',
    features: { customTools: true, webSearch: true, compaction: true },
  },
  messages: {
    api: 'messages',
    auth: { scheme: 'XApiKey' },
    version: '/v1',
    addsVersion: true,
    features: {
      embeddings: false,
      images: false,
      sampling: false,
      reasoning: 'Adaptive',
      efforts: ['none', 'low', 'medium', 'high', 'xhigh', 'max'],
      webSearch: true,
      cacheMarks: true,
    },
  },
  embeddings: { auth: { scheme: 'Bearer' }, version: '/v1' },
  images: { api: 'images', auth: { scheme: 'Bearer' }, version: '/v1', imagesOnly: true },
}

/**
 * Headers in which vendors expect a bare key, in lower case. Clients of their APIs send the gateway's key in the same
 * header.
 */
export const KEY_HEADERS: ReadonlySet<string> = new Set(
  Object.values(CHANNEL_TYPE_FACTS).flatMap(({ auth }) => {
    if ('header' in auth) return auth.header.toLowerCase()
    return auth.scheme === 'XApiKey' ? 'x-api-key' : []
  }),
)

/** The type of channel whose upstreams speak the API. */
export function typeOf(api: ApiName): ChannelType {
  const types = Object.keys(CHANNEL_TYPE_FACTS) as ChannelType[]
  const type = types.find((type) => CHANNEL_TYPE_FACTS[type].api === api)
  if (type === undefined) throw new TypeError(`no type of channel speaks ${api}`)
  return type
}

/** How the vendors of an API take a credential. */
export function authOf(api: ApiName): ChannelTypeFacts['auth'] {
  return CHANNEL_TYPE_FACTS[typeOf(api)].auth
}

/**
 * The path that the endpoints of an upstream are below, from the path of its base URL. The version is added to a base
 * URL that lacks it: for types that add it always, unless the path ends in a version; for others where there is no path.
 */
export function endpointBase(type: ChannelType, path: string): string {
  const base = withoutEnd(path, '/')
  const { version, addsVersion } = CHANNEL_TYPE_FACTS[type]
  const hasVersion = addsVersion ? /\/v[0-9][a-z0-9]*$/.test(base) : base !== ''
  return hasVersion ? base : `${base}${version}`
}
