/**
 * Checks which folder imports which. The table below is the architecture: a file belongs to the place with the longest matching
 * path, and may import its own place and the places listed. The linter finds cycles, also of types.
 *
 *     node tools/check-imports.ts [<folder>]
 */
import { globSync, readFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { importsOf } from './imports.ts'

const STAGES = [
  'proxy/auth',
  'proxy/affinity',
  'proxy/ledger',
  'proxy/table',
  'proxy/outbound',
  'proxy/upstream',
  'proxy/dialects',
  'proxy/telemetry',
]
const STEPS = [
  'controller/source',
  'controller/compile',
  'controller/books',
  'controller/publish',
  'controller/status',
  'controller/keys',
  'controller/kube',
  'controller/telemetry',
]
const OPENAI_DIALECTS = ['chat', 'responses', 'images', 'embeddings']
const BELOW_STAGES = ['contract', 'store', 'proxy/errors.ts']

/** The ground floor: every room may import it, and it imports nothing but what Node brings. */
const GROUND = 'kit'

/** Place to the places that it may import, beside the ground floor. */
const PLACES: Record<string, string[]> = {
  [GROUND]: [],
  contract: [],
  store: ['contract'],
  admin: ['contract'],

  'controller/main.ts': [
    'admin',
    'contract',
    'store',
    'controller/snapshot.ts',
    'controller/alarm.ts',
    'controller/candidate.ts',
    'controller/lead.ts',
    'controller/pages.ts',
    ...STEPS,
  ],
  'controller/cluster.ts': [
    'admin',
    'contract',
    'store',
    'controller/snapshot.ts',
    'controller/alarm.ts',
    'controller/lead.ts',
    'controller/pages.ts',
    ...STEPS,
  ],
  'controller/pages.ts': ['admin', 'contract', 'store', 'controller/snapshot.ts', 'controller/status'],
  'controller/lead.ts': ['contract', 'store', 'controller/snapshot.ts', 'controller/bookkeeper.ts', ...STEPS],
  'controller/bookkeeper.ts': [
    'contract',
    'store',
    'controller/snapshot.ts',
    'controller/books',
    'controller/publish',
    'controller/telemetry',
  ],
  'controller/alarm.ts': [],
  'controller/candidate.ts': ['contract', 'store'],
  'controller/snapshot.ts': ['contract'],
  'controller/source': ['contract', 'controller/snapshot.ts', 'controller/kube'],
  'controller/compile': ['contract', 'controller/snapshot.ts'],
  'controller/books': ['contract', 'store', 'controller/snapshot.ts', 'controller/kube'],
  'controller/publish': ['contract', 'store', 'controller/snapshot.ts', 'controller/books'],
  'controller/status': ['contract', 'store', 'controller/snapshot.ts', 'controller/kube'],
  'controller/keys': ['contract', 'controller/snapshot.ts', 'controller/kube'],
  'controller/kube': ['contract'],
  'controller/telemetry': ['admin', 'contract', 'controller/snapshot.ts'],

  'proxy/settings.ts': ['contract', 'proxy/pipeline', 'proxy/socket', 'proxy/relay', 'proxy/server'],
  'proxy/main.ts': [
    'admin',
    'proxy/open',
    'proxy/pages.ts',
    'proxy/settings.ts',
    ...BELOW_STAGES,
    ...STAGES,
    'proxy/pipeline',
    'proxy/server',
  ],
  'proxy/open': [
    'admin',
    'proxy/settings.ts',
    ...BELOW_STAGES,
    ...STAGES,
    'proxy/pipeline',
    'proxy/socket',
    'proxy/relay',
    'proxy/server',
  ],
  'proxy/pages.ts': ['admin', ...BELOW_STAGES, 'proxy/pipeline'],
  'proxy/server': [...BELOW_STAGES, ...STAGES, 'proxy/pipeline', 'proxy/socket', 'proxy/relay'],
  'proxy/relay': [...BELOW_STAGES, ...STAGES, 'proxy/pipeline'],
  'proxy/socket': [...BELOW_STAGES, ...STAGES, 'proxy/pipeline'],
  'proxy/pipeline': [...BELOW_STAGES, ...STAGES],
  ...Object.fromEntries(STAGES.map((stage) => [stage, BELOW_STAGES])),
  'proxy/upstream': [...BELOW_STAGES, 'proxy/outbound'],
  'proxy/dialects': [...BELOW_STAGES, 'proxy/dialects/*'],
  'proxy/dialects/core': BELOW_STAGES,
  'proxy/dialects/openai': [...BELOW_STAGES, 'proxy/dialects/core'],
  'proxy/dialects/messages': [...BELOW_STAGES, 'proxy/dialects/core'],
  ...Object.fromEntries(
    OPENAI_DIALECTS.map((name) => [
      `proxy/dialects/${name}`,
      [...BELOW_STAGES, 'proxy/dialects/core', 'proxy/dialects/openai'],
    ]),
  ),
  'proxy/telemetry': ['admin', ...BELOW_STAGES],
  'proxy/errors.ts': ['contract'],

  cli: ['admin', 'contract', 'store', 'controller/*', 'proxy/*', 'examples'],

  examples: [],
  bench: ['contract', 'store', 'controller', 'test', 'tools'],
  tools: ['admin', 'test/assets', 'contract', 'store', 'controller/*', 'proxy/*', 'cli', 'examples'],
  'test/assets': [],
  test: [
    'test/assets',
    'admin',
    'contract',
    'store',
    'controller/*',
    'proxy/*',
    'cli',
    'examples',
    'tools',
    'bench',
  ],
}

/** Room to what its unit tests may import: siblings are free there, other rooms are not. */
const TESTS: Record<string, string[]> = {
  [GROUND]: [],
  contract: ['contract', 'test'],
  store: ['store', 'contract', 'test'],
  admin: ['admin', 'contract', 'proxy/outbound'],
  controller: ['controller/*', 'admin', 'contract', 'store', 'examples', 'test'],
  proxy: ['proxy/*', 'admin', 'contract', 'store', 'examples', 'test'],
  cli: ['cli', 'admin', 'controller/*', 'proxy/*', 'contract', 'store', 'examples', 'test'],
  examples: ['examples', 'contract'],
  tools: ['tools', 'contract', 'store', 'controller/*', 'proxy/*', 'cli'],
  bench: ['bench', 'test'],
}

/** The files with a dialect's wire types. */
const wireOf = (...dialects: string[]) => dialects.map((name) => `proxy/dialects/${name}/wire.ts`)

/** Libraries that only these places load; tests may use any. */
const FENCES: Record<string, string[]> = {
  express: ['proxy/server'],
  undici: ['proxy/outbound', 'controller/kube', 'bench'],
  commander: ['cli'],
  pino: ['cli', 'controller/main.ts', 'proxy/main.ts'],
  ioredis: ['store/redis'],
  ws: ['proxy/socket', 'bench'],
  '@kubernetes/client-node': ['controller/kube'],
  // Their types: a dialect never runs an SDK.
  openai: wireOf('openai', ...OPENAI_DIALECTS),
  '@anthropic-ai/sdk': wireOf('messages'),
}

/** Places without clock or I/O, and the built-in modules that do neither. */
const PURE = ['contract', 'controller/compile', 'controller/snapshot.ts']
const PURE_BUILTINS = ['node:buffer', 'node:crypto', 'node:net', 'node:util', 'node:zlib']

/** One line for each violation: `file:line: what and which rule`. */
export function checkImports(root: string): string[] {
  const files = globSync('**/*.{ts,mts,js,mjs}', { cwd: root, exclude: isForeign }).sort()
  return files.flatMap((file) =>
    importsOf(readFileSync(join(root, file), 'utf8')).flatMap(({ specifier, line }) => {
      const problem = specifier.startsWith('.')
        ? checkFile(file, relative(root, resolve(root, file, '..', specifier)))
        : checkLibrary(file, specifier)
      return problem === undefined ? [] : [`${file}:${line}: ${problem}`]
    }),
  )
}

function checkFile(file: string, target: string): string | undefined {
  if (!file.includes('/')) return undefined
  const from = isTest(file) ? roomOf(file) : placeOf(file)
  const to = placeOf(target)
  if (from === undefined) return `${file} has no place in the table of tools/check-imports.ts`
  if (to === undefined) return `${target} has no place in the table of tools/check-imports.ts`
  const allowed = (isTest(file) ? TESTS : PLACES)[from] ?? []
  if (from === to || to === GROUND || isIn(to, allowed)) return undefined
  return `${from} may not import ${to} (it may import: ${allowed.join(', ') || 'nothing'})`
}

function checkLibrary(file: string, specifier: string): string | undefined {
  if (isTest(file) || roomOf(file) === 'test') return undefined
  if (specifier.startsWith('node:')) {
    const pure = isIn(file, PURE) && !PURE_BUILTINS.includes(specifier)
    return pure ? `${placeOf(file)} does no I/O and may not import ${specifier}` : undefined
  }
  if (roomOf(file) === GROUND) return `${GROUND} may import nothing but what Node brings, not ${specifier}`
  const name = specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/')
  const fence = FENCES[name]
  if (fence === undefined || isIn(file, fence)) return undefined
  return `only ${fence.join(', ')} may import ${name}`
}

/** True when `path` is one of the places, or lies in one; `x/*` is everything in x. */
function isIn(path: string, places: string[]): boolean {
  return places.some((place) => path === place || path.startsWith(`${place.replace(/\/\*$/, '')}/`))
}

function placeOf(file: string): string | undefined {
  const places = Object.keys(PLACES).filter((place) => isIn(file, [place]))
  return places.sort((a, b) => b.length - a.length)[0]
}

const roomOf = (file: string) => file.split('/')[0] ?? ''
const isTest = (file: string) => /(\.test|\btesting)\.ts$/.test(file) && roomOf(file) !== 'test'
const isForeign = (path: string) => /^(node_modules|dist|\.[^/]+)$|\/node_modules$/.test(path)

if (import.meta.main) {
  const problems = checkImports(process.argv[2] ?? join(import.meta.dirname, '..'))
  for (const problem of problems) console.error(problem)
  process.exitCode = problems.length > 0 ? 1 : 0
}
