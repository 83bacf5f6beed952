/** The table of ARCHITECTURE.md with the shared files that name a dialect: another dialect may have to change them. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { API_NAMES, CHANNEL_TYPES } from '../contract/apis.ts'
import { ENDPOINT_NAMES } from '../contract/endpoints.ts'

const ROOT = join(import.meta.dirname, '..')
const MOST = 6
/** Where a dialect is registered, its endpoints and its type of channel. */
const APART = [
  'contract/apis.ts',
  'contract/channel-types.ts',
  'contract/endpoints.ts',
  'proxy/dialects/index.ts',
]
const SHARED = '{admin,cli,contract,controller,kit,proxy,store,tools}/**/*.ts'
const FOLDERS = globSync('proxy/dialects/*/index.ts', { cwd: ROOT }).map((file) => file.split('/')[2])
/** Tests, files of one dialect, and the pages of its endpoints in the OpenAPI document. */
const OWN = new RegExp(
  `(?:\\.test|\\.cases|testing)\\.ts$|^proxy/dialects/(?!core/)[^/]+/|^tools/generate/openapi/(?:${FOLDERS.join('|')}|stored)\\.ts$`,
)

const NAMES = [...new Set([...API_NAMES, ...ENDPOINT_NAMES, ...CHANNEL_TYPES, 'anthropic', 'openai'])].join(
  '|',
)
const NAMED = [
  // A name as a value; a key of JSON is none.
  new RegExp(`(['"\`])(?:${NAMES})\\1(?!\\s*:)`),
  new RegExp(`\\b(?:ENDPOINTS|DIALECTS|FACTS)\\.(?:${NAMES})\\b`),
  /\bchat_completion\b/,
  // A module of one dialect.
  new RegExp(`from '[^']*/(?:${NAMES})(?:/[^']*|\\.ts)'`),
]

const names = (source: string): boolean => NAMED.some((name) => name.test(source))

const naming = globSync(SHARED, { cwd: ROOT }).filter(
  (file) => !OWN.test(file) && names(readFileSync(join(ROOT, file), 'utf8')),
)

const page = readFileSync(join(ROOT, 'ARCHITECTURE.md'), 'utf8')
const section = page.split('\n## ').find((text) => text.startsWith('Files that name a dialect\n')) ?? ''
const rows = [...section.matchAll(/^\| `([^`]+)` \| [^|]+ \| (yes|no) \|$/gm)].map(
  ([, file = '', counts]) => ({
    file,
    counts: counts === 'yes',
  }),
)

describe('the table of files that name a dialect', () => {
  test('has every such file, and no other', () => {
    expect(rows.map(({ file }) => file).toSorted()).toEqual(naming.toSorted())
  })

  test('counts all but the registration, the endpoints and the type of channel', () => {
    const apart = rows.filter(({ counts }) => !counts).map(({ file }) => file)
    expect(apart.toSorted()).toEqual(APART)
  })

  test(`counts at most ${MOST}`, () => {
    expect(rows.filter(({ counts }) => counts).length).toBeLessThanOrEqual(MOST)
  })
})

test.each([
  "if (api === 'messages') return",
  'const { path } = ENDPOINTS.responses',
  "import { chat } from '../dialects/chat/index.ts'",
  "{ chat_completion: 'byte' }",
  "family: 'anthropic',",
])('would find: %s', (source) => expect(names(source)).toBe(true))

test.each(['{"messages": []}', 'const images = 1', 'z.object({ messages: z.array(z.string()) })'])(
  'lets pass: %s',
  (source) => expect(names(source)).toBe(false),
)
