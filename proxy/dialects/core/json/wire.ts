/** Helpers for the wire types of dialects. Types only. */

/** T as JSON.stringify takes it: an optional field that is undefined is left out. */
export type Sparse<T> = T extends object
  ? { [K in keyof T]: Partial<Pick<T, K>> extends Pick<T, K> ? Sparse<T[K]> | undefined : Sparse<T[K]> }
  : T

/** T, but the fields K take any text, because vendors use words that T does not list. */
export type Worded<T, K extends keyof T> = Omit<T, K> & { [P in K]: T[P] | string }

/** The fields of T without their types: for objects whose values pass as they came. */
export type FieldsOf<T> = { [K in keyof T]?: unknown }
