export interface Mutant {
  /** The file that gets the fault, from the checkout's root. */
  file: string
  /** Occurs exactly once in `file`. */
  find: string
  replace: string
  /** The test file, or folder of tests, that must fail. */
  test: string
}

/** Faults of one file that one test must notice: the text there, and its replacement. */
export function faults(file: string, test: string, ...pairs: [find: string, replace: string][]): Mutant[] {
  return pairs.map(([find, replace]) => ({ file, find, replace, test }))
}
