/** The types of setting values. All are parsed from text; each error message says what the value must be. */
import { z } from 'zod'
import { isAddressRange } from '../address.ts'
import { DURATION, parseDuration } from '../duration.ts'

export const MIB = 1_048_576

export const port = (value: number) => {
  const error = 'must be a port, 0 to 65535'
  return z.coerce.number({ error }).int({ error }).min(0, { error }).max(65535, { error }).default(value)
}

export const MAX_WORKERS = 64

export const workers = () => {
  const error = `must be a whole number from 1 to ${MAX_WORKERS}`
  return z.coerce.number({ error }).int({ error }).min(1, { error }).max(MAX_WORKERS, { error }).default(1)
}

export const bytes = (value: number, max = 1_073_741_824) =>
  z.coerce.number().int().min(1024).max(max).default(value)

export const count = (value: number) => z.coerce.number().int().min(1).max(10_000_000).default(value)

/** A limit; 0 turns it off. */
export const bound = () => z.coerce.number().int().min(0).max(10_000_000).default(0)

/** Text such as 30s, parsed into milliseconds. */
export const time = (value: string) =>
  z
    .string()
    .min(2)
    .regex(DURATION, 'must be a duration such as 30s, 5m or 1h30m')
    .default(value)
    .transform((text) => parseDuration(text))

export const flag = () =>
  z
    .enum(['true', 'false'])
    .default('false')
    .transform((text) => text === 'true')

export const text = () => z.string().optional()

/** Splits a comma-separated list. */
export const listed = (text: string) =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')

export const list = () => z.string().default('').transform(listed)

/** `name=value` of a Kubernetes label. Unlike in Kubernetes, the value may not be empty. */
const LABEL =
  /^([a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([-._A-Za-z0-9]{0,61}[A-Za-z0-9])?=[A-Za-z0-9]([-._A-Za-z0-9]{0,61}[A-Za-z0-9])?$/

/** Labels that an object must have, each with one value. */
export const labels = () =>
  list()
    .refine(
      (texts) => texts.every((text) => LABEL.test(text)),
      'must be labels written as name=value, separated by commas',
    )
    .transform(
      (texts): Readonly<Record<string, string>> =>
        Object.fromEntries(texts.map((text) => text.split('=', 2))),
    )

/** Addresses and CIDR ranges. */
export const ranges = () =>
  list().refine(
    (texts) => texts.every(isAddressRange),
    'must be addresses or CIDR ranges, separated by commas',
  )

export const redisUrl = () =>
  z
    .string()
    .refine(
      (text) => listed(text).length > 0 && listed(text).every(isRedisAddress),
      'must be redis:// or rediss:// addresses, separated by commas; in a password, write % as %25 and a comma as %2C',
    )
    .optional()

function isRedisAddress(text: string): boolean {
  const url = URL.parse(text)
  return url !== null && /^rediss?:\/\/./.test(text) && /^(\/\d*)?$/.test(url.pathname) && isDecodable(url)
}

/** URL of an HTTP proxy, with user and password if it needs them; `proxy:3128` means http://. */
export const proxyUrl = () =>
  z
    .string()
    .overwrite((text) => (text.includes('://') ? text : `http://${text}`))
    .refine(isProxyAddress, 'must be an http:// or https:// address')
    .optional()

function isProxyAddress(text: string): boolean {
  const url = URL.parse(text)
  if (url === null) return false
  const { protocol, pathname, search, hash } = url
  return /^https?:$/.test(protocol) && pathname === '/' && search === '' && hash === '' && isDecodable(url)
}

/** False if the user or the password has a % that begins no character. */
function isDecodable({ username, password }: URL): boolean {
  try {
    decodeURIComponent(username)
    decodeURIComponent(password)
    return true
  } catch {
    return false
  }
}
