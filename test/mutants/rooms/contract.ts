/** Faults of the contract between the programs, and of the CRDs. */
import { faults, type Mutant } from '../fault.ts'

export const CONTRACT: Mutant[] = [
  ...faults(
    'contract/api/json-schema.ts',
    'contract/api/json-schema.test.ts',
    // An editor marks an address from the environment as wrong.
    ["if (path.at(-1) === 'baseURL')", 'if (false)'],
    // An editor does not see a misspelt field beside the spec.
    ['additionalProperties: false,', ''],
  ),
  ...faults(
    'contract/money.ts',
    'contract/money.test.ts',
    // A cost is rounded down: the operator pays the difference.
    [' + unit - 1n) / unit', ') / unit'],
    [' + (rest > 0 ? 1 : 0)', ''],
    // An upstream that does not say what it made gets the cheapest image charged.
    ['most = Math.max(most, entry.amount)', 'most = entry.amount'],
    // Audio costs as much as text.
    ['const audio = audioInput ?? answer', 'const audio = audioInput ?? input'],
    // Tokens of images are charged twice.
    ['usage.input - parts.imageInput - parts.audioInput', 'usage.input - parts.audioInput'],
    // A prompt at the bound costs the price of a longer one.
    ['promptTokens > tokens', 'promptTokens >= tokens'],
    // Searches are free.
    ['charge(price.perCall[tool] ?? 0,', 'charge(0,'],
  ),

  ...faults(
    'contract/glob.ts',
    'contract/glob.test.ts',
    // "gpt-4-turbo" also allows "gpt-4".
    ['return g === glob.length', 'return true'],
  ),

  // 192.0.2.0/33 is accepted as a range.
  ...faults('contract/address.ts', 'contract/address.test.ts', ['isIPv4(address) ? 32 : 128', '128']),

  ...faults(
    'contract/api/modelroute.ts',
    'contract/api/rules.test.ts',
    // Output tokens are free on a route that prices only input.
    ['(s.price.input === undefined) === (s.price.output === undefined)', 'true'],
  ),

  ...faults(
    'contract/key-format.ts',
    'contract/key-format.test.ts',
    // A made-up key costs a look-up.
    ['return key.slice(end) === checksum(key.slice(0, end))', 'return end > 0'],
  ),

  ...faults(
    'crds/sluice.dev_credits.yaml',
    'test/crd/rules.test.ts',
    // A credit can change after it was applied.
    ['rule: self == oldSelf', 'rule: self == self'],
  ),

  ...faults(
    'crds/sluice.dev_apikeys.yaml',
    'test/crd/rules.test.ts',
    // The API server's sentences differ from folder mode's.
    [
      'message: spec has more than one of secretRef, secretRefs and hashes; keep one of them',
      'message: one of them',
    ],
  ),

  ...faults(
    'crds/sluice.dev_channels.yaml',
    'test/crd/crds.test.ts',
    // Clients that wait for Ready continue before the controller has looked.
    ['status: Unknown', 'status: "True"'],
  ),

  ...faults(
    'contract/api/fields.ts',
    'test/crd/schemas.test.ts',
    // A folder accepts names that no cluster accepts.
    ['(\\.[a-z0-9]+(-+[a-z0-9]+)*)*$/', '[-.a-z0-9]*$/'],
  ),
  // A channel that omits a word loses a feature.
  ...faults('contract/profiles.ts', 'contract/profiles.test.ts', [
    '.filter(([, value]) => value !== undefined)',
    '',
  ]),
]
