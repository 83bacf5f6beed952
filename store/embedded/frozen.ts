/** A deeply frozen copy of plain data. */
export function frozenCopy<T>(record: T): T {
  return freezeDeep(structuredClone(record))
}

function freezeDeep<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  Object.values(value).forEach(freezeDeep)
  return Object.freeze(value)
}
