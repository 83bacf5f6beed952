import { isRecord } from '../json/value.ts'
import type { ParsedRequest } from '../request.ts'
import type { UpstreamError } from './upstream-error.ts'

const MAX_LENGTH = 128
const PATH = /^[A-Za-z_]\w*(?:\.\w+|\[\d{1,6}\])*$/
/** A field at the beginning, before a colon, or in any kind of quotes. */
const MENTION = /^([A-Za-z_][\w.[\]]{0,127}): |[`'"]([A-Za-z_][\w.[\]]{0,127})[`'"]/g
const MAX_MENTIONS = 4

/**
 * The field of the client's request that an error is about: the upstream's `param`, or a field in its message.
 * Undefined when the request has no such field: clients must not read other words of the upstream.
 */
export function paramOf({ fields, text }: UpstreamError, { value }: ParsedRequest): string | undefined {
  const mentioned = [...text.matchAll(MENTION)]
    .slice(0, MAX_MENTIONS)
    .map(([, first, quoted]) => first ?? quoted ?? '')
  const paths = [fields.param, ...mentioned].filter(isPath)
  if (paths.length === 0 || value === undefined) return undefined
  const request = value.get()
  const known = (path: string) => has(request, path)
  if (isPath(fields.param)) return known(fields.param) ? fields.param : undefined
  // `thinking.type.enabled` names a value: the field is the longest part of the path that exists.
  return mentioned.flatMap(withParents).find(known)
}

function isPath(path: unknown): path is string {
  return typeof path === 'string' && path.length <= MAX_LENGTH && PATH.test(path)
}

/** The path itself, then its parents. */
function withParents(path: string): string[] {
  const paths: string[] = []
  for (let rest = path; isPath(rest); rest = rest.replace(/(?:\.\w{1,128}|\[\d{1,6}\]|\w{1,128})$/, ''))
    paths.push(rest)
  return paths
}

function has(request: unknown, path: string): boolean {
  let value = request
  for (const step of path.split(/[.[\]]+/).filter((s) => s !== '')) {
    if (Array.isArray(value) && /^\d+$/.test(step) && Number(step) < value.length) value = value[Number(step)]
    else if (isRecord(value) && Object.hasOwn(value, step)) value = value[step]
    else return false
  }
  return true
}
