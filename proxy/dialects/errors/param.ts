import { isRecord, tryParse } from '../json/value.ts'

const MAX_LENGTH = 128
const PATH = /^[A-Za-z_]\w*(?:\.\w+|\[\d{1,6}\])*$/

/** An upstream's `param` when it is a plain path to something that the request holds, else undefined. */
export function knownParam(param: unknown, body: Buffer): string | undefined {
  if (typeof param !== 'string' || param.length > MAX_LENGTH || !PATH.test(param)) return undefined
  let value = tryParse(body.toString('utf8'))
  for (const step of param.split(/[.[\]]+/).filter((s) => s !== '')) {
    if (Array.isArray(value) && /^\d+$/.test(step) && Number(step) < value.length) value = value[Number(step)]
    else if (isRecord(value) && Object.hasOwn(value, step)) value = value[step]
    else return undefined
  }
  return param
}
