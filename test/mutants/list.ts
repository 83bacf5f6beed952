/**
 * Planted one-line faults, each with the test that must notice. A fault that no test notices shows a rule that nothing
 * guards. `find` stands exactly once in `file`.
 */
export interface Mutant {
  /** The file that gets the fault, from the checkout's root. */
  file: string
  find: string
  replace: string
  /** The test file, or folder of tests, that must fail. */
  test: string
}

export const MUTANTS: Mutant[] = [
  // Rounds a cost down: the operator pays the difference.
  {
    file: 'contract/money.ts',
    find: '(total + unit - 1n) / unit',
    replace: 'total / unit',
    test: 'contract/money.test.ts',
  },
  // Never backtracks, so that "a*b" no longer matches "abab".
  {
    file: 'contract/glob.ts',
    find: 't = ++starText',
    replace: 'return false',
    test: 'contract/glob.test.ts',
  },
  // Takes 192.0.2.0/33 for a range.
  {
    file: 'contract/address.ts',
    find: 'isIPv4(address) ? 32 : 128',
    replace: '128',
    test: 'contract/address.test.ts',
  },
]
