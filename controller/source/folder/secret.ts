/** The entries of a Secret: base64 `data`, overridden by `stringData` with variables replaced. */
import { withoutEnd } from '../../../contract/text.ts'
import { SecretData } from '../../snapshot.ts'
import { type Fault, fieldName, typeName, wantedText } from '../explain.ts'
import { substitute } from './substitute.ts'

const ENTRY_NAME = /^[-._a-zA-Z0-9]{1,253}$/
const BASE64 = /^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/** Reads `data` and `stringData` of a Secret. Trailing line breaks, which editors add, are removed. */
export function readSecret(
  document: Readonly<Record<string, unknown>>,
  env: Readonly<Record<string, string | undefined>>,
): { data: SecretData; faults: Fault[] } {
  const entries = new Map<string, string>()
  const faults: Fault[] = []
  const read = (
    field: 'data' | 'stringData',
    decode: (value: string, name: string) => string | undefined,
  ) => {
    const given = document[field]
    if (given === undefined || given === null) return
    if (typeof given !== 'object' || Array.isArray(given)) {
      faults.push({ path: [field], message: `${field} must be a mapping of names to values` })
      return
    }
    for (const [name, value] of Object.entries(given)) {
      const path = [field, name]
      if (!ENTRY_NAME.test(name))
        faults.push({
          path,
          message: `the names in ${field} may only have letters, digits, -, _ and .`,
        })
      else if (typeof value !== 'string')
        faults.push({ path, message: wantedText(fieldName(path), typeName(value)) })
      else {
        const decoded = decode(value, name)
        if (decoded !== undefined) entries.set(name, withoutEnd(decoded, '\r\n'))
      }
    }
  }
  read('data', (value, name) => {
    const packed = value.replace(/\s/g, '')
    if (BASE64.test(packed)) return Buffer.from(packed, 'base64').toString('utf8')
    faults.push({
      path: ['data', name],
      message: `${fieldName(['data', name])} is not base64; encode it, or use stringData for plain text`,
    })
    return undefined
  })
  read('stringData', (value, name) => {
    const filled = substitute(value, env)
    if (filled.ok) return filled.text
    faults.push({
      path: ['stringData', name],
      message: `${fieldName(['stringData', name])} ${filled.message}`,
    })
    return undefined
  })
  return { data: new SecretData(entries), faults }
}
