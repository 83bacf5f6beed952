/** The entries of a Secret: base64 `data`, overridden by `stringData` with variables replaced. */
import { withoutEnd } from '../../../contract/text.ts'
import { SecretData } from '../../snapshot.ts'
import { type Fault, fieldName, typeName, wantedText } from '../explain.ts'
import { type Substituted, substitute } from './substitute.ts'

const ENTRY_NAME = /^[-._a-zA-Z0-9]{1,253}$/
const BASE64 = /^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/** Reads `data` and `stringData` of a Secret. Trailing line breaks, which editors add, are removed. */
export function readSecret(
  document: Readonly<Record<string, unknown>>,
  env: Readonly<Record<string, string | undefined>>,
): { data: SecretData; faults: Fault[] } {
  const entries = new Map<string, string>()
  const faults: Fault[] = []
  const read = (field: 'data' | 'stringData', decode: (value: string) => Substituted) => {
    const given = document[field]
    if (given === undefined || given === null) return
    if (typeof given !== 'object' || Array.isArray(given)) {
      faults.push({ path: [field], message: `${field} must be a mapping of names to values` })
      return
    }
    for (const [name, value] of Object.entries(given)) {
      const path = [field, name]
      if (!ENTRY_NAME.test(name))
        faults.push({ path, message: `the names in ${field} may only have letters, digits, -, _ and .` })
      else if (typeof value !== 'string')
        faults.push({ path, message: wantedText(fieldName(path), typeName(value)) })
      else {
        const decoded = decode(value)
        if (decoded.ok) entries.set(name, withoutEnd(decoded.text, '\r\n'))
        else faults.push({ path, message: `${fieldName(path)} ${decoded.message}` })
      }
    }
  }
  read('data', fromBase64)
  read('stringData', (value) => substitute(value, env))
  return { data: new SecretData(entries), faults }
}

function fromBase64(value: string): Substituted {
  const packed = value.replace(/\s/g, '')
  return BASE64.test(packed)
    ? { ok: true, text: Buffer.from(packed, 'base64').toString('utf8') }
    : { ok: false, message: 'is not base64; encode it, or use stringData for plain text' }
}
