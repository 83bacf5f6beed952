/** Core names no dialect and no vendor: another dialect must not have to change it. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ENDPOINT_NAMES } from '../../../contract/endpoints.ts'
import { DIALECTS } from '../index.ts'

const VENDORS = [
  'anthropic',
  'bedrock',
  'claude',
  'codex',
  'deepseek',
  'fastapi',
  'gemini',
  'gpt',
  'grok',
  'llama',
  'mistral',
  'ollama',
  'openai',
  'openrouter',
  'vllm',
]
/** Names that are ordinary words too, such as fields and counters: only their use as a name counts. */
const WORDS = ['messages', 'images', 'compact']
const NAMES = [...new Set([...Object.keys(DIALECTS), ...ENDPOINT_NAMES])]

const bare = NAMES.filter((name) => !WORDS.includes(name))
const FAMILY = 'API|APIs|dialects?|upstreams?|clients?|channels?|endpoints?|codecs?|requests?|answers?'
const FORBIDDEN = [
  // A vendor, also as a part of an identifier or a header.
  new RegExp(VENDORS.join('|'), 'i'),
  new RegExp(`\\b(?:${bare.join('|')})\\b`, 'i'),
  // A name as a value, alone in parentheses, with an apostrophe, or next to a word of FAMILY.
  new RegExp(`['"\`](?:${WORDS.join('|')})['"\`]`),
  new RegExp(`\\((?:${WORDS.join('|')})[,)]`),
  new RegExp(`\\b(?:${WORDS.join('|')})['’]s? `),
  new RegExp(`\\b(?:${WORDS.join('|')}) (?:${FAMILY})\\b`, 'i'),
  new RegExp(`\\b(?:${FAMILY}) of (?:${WORDS.join('|')})\\b`, 'i'),
]

const findings = (source: string): string[] =>
  source.split('\n').filter((line) => FORBIDDEN.some((name) => name.test(line)))

const files = globSync('**/*.ts', { cwd: import.meta.dirname }).filter(
  (file) => !/(?:\.test|testing)\.ts$/.test(file),
)

test('core has files to search', () => {
  expect(files).toContain('dialect.ts')
  expect(files.length).toBeGreaterThan(40)
})

test.each(files)('%s', (file) => {
  expect(findings(readFileSync(join(import.meta.dirname, file), 'utf8'))).toEqual([])
})

test.each([
  "if (dialect === 'messages') return",
  "if (upstream.name !== 'images') return",
  '/** Asks for usage in the stream (chat). */',
  '/** The same request as it came: the responses dialect repeats it. */',
  '/** Messages clients have no cache key. */',
  "/** Also messages' `speed: fast`. */",
  '/** Requests of messages have it. */',
  '/** What OpenAI takes as a key. */',
  "headers['anthropic-version']",
  'function openaiTools() {}',
])('would find: %s', (line) => expect(findings(line)).toEqual([line]))

test.each(['const images = imagesOf(answer)', '`your messages resulted in`', 'usage.images > 0'])(
  'lets pass: %s',
  (line) => expect(findings(line)).toEqual([]),
)
