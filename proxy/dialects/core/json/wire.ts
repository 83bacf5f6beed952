/** Helpers for the wire types of dialects. Types only. */

/** T as JSON.stringify takes it: an optional field that is undefined is left out. */
export type Sparse<T> = T extends object
  ? { [K in keyof T]: Partial<Pick<T, K>> extends Pick<T, K> ? Sparse<T[K]> | undefined : Sparse<T[K]> }
  : T

/** T with the fields of R added, or instead of its own. */
export type With<T, R> = Omit<T, keyof R> & R

/** The fields of T without their types: for objects whose values pass as they came. */
export type FieldsOf<T> = { [K in keyof T]?: unknown }
