import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { sanitised } from './sanitise.ts'

const SECRET = 'Zq7-channel/credential+9'
const known = {
  secrets: [SECRET, 'tiny', 'X-Team value'],
  host: 'vllm-gateway',
  upstreamModel: 'acme/secret-model-7b',
  clientModel: 'my-model',
}
const shown = (words: string) => sanitised(words, known)

describe('useful text stays', () => {
  test.each([
    'temperature must be <= 2',
    "Invalid value: 'input_txt'. Supported values are: 'input_text', 'input_image', and 'input_file'.",
    'messages.3.content.0.tool_use.id: String should match pattern',
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    'tools.0.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12.',
    "Invalid schema for function 'get_weather': In context=('properties', 'address'), 'required' is required to be supplied.",
    'max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens',
    'The file type you uploaded is not supported. Please try again with a pdf',
    'image exceeds 5 MB maximum: 12345678 bytes > 5242880 bytes',
    'Invalid request: messages[1].role must be one of system, user, assistant',
    'Bad file photo.png: image/png expected',
    'user_id: Extra inputs are not permitted',
    'temperature 0.5 and top_p 1.25 are exclusive since version 1.2.3',
    'Only v1/responses takes web_search_20250305',
    'Your organization must be verified to stream this',
    'litellm.BadRequestError: budget_tokens must be greater than 1024',
    '参数 temperature 无效，必须在 0 到 2 之间。',
    'Die Länge der Anfrage überschreitet das Maximum.',
  ])('%s', (words) => expect(shown(words)).toBe(words))

  test('the model has the name that the client gave it, also with a date or a size appended', () => {
    expect(shown('The model `acme/secret-model-7b` takes no tools')).toBe(
      'The model `my-model` takes no tools',
    )
    expect(shown('SECRET-MODEL-7B-2024-01-01 takes no tools')).toBe('my-model takes no tools')
    expect(shown('models/secret-model-7b:generate takes no tools')).toBe('models/my-model takes no tools')
  })

  test('at most 500 characters, none cut in half', () => {
    const long = shown(`no ${'🙂 '.repeat(900)}`) ?? ''
    expect([...long].length).toBe(500)
    expect(long.endsWith('…')).toBe(true)
    expect(long.isWellFormed()).toBe(true)
    const model = { ...known, clientModel: 'm'.repeat(600) }
    expect(sanitised('the model secret-model-7b refuses', model)?.length).toBe(500)
  })

  test('lines are joined, and formatting characters are removed', () => {
    expect(shown('first\r\n\t second\u202e \u0007third\u200b')).toBe('first second third')
  })

  test('a message without words becomes undefined', () => {
    for (const words of ['', ' ', '***', 'https://a.b/c', SECRET, '42', '\ue000 \ue001'])
      expect(shown(words)).toBeUndefined()
  })
})

/** Secrets: the text to look for in the answer, and the forms that an upstream may write. */
const CANARIES: [string, string[]][] = [
  [
    'key',
    [
      'sk-proj-Ab12cd34Ef56gh78',
      'sk-ant-api03-x1',
      'sk_live_51abc',
      'AIzaSyA1234567890abcdefg',
      'AKIAIOSFODNN7EXAMPLE',
    ],
  ],
  [
    'token',
    [
      'ghp_16C7e42F292c6912E7710c838347Ae178B4a',
      'github_pat_11ABCDEFG',
      'hf_abcdefgh',
      'gsk_a1b2',
      'xai-12ab',
      'xoxb-17-ab',
    ],
  ],
  ['jwt', ['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl', 'ya29.a0AfH6SMBx']],
  [
    'random',
    [
      'Zk3PqW8sYv2LmN4x',
      '9f86d081884c7d65',
      'qwertyuiopasdfghjklzxcvbnm',
      'aQwErTyUiOpAsDfG',
      'dGhpcyBpcyBhIHNlY3JldA+/',
    ],
  ],
  ['masked', ['sk-ab***yz', 'sk-ab...wxyz', 'AbCd****WxYz']],
  [
    'url',
    [
      'https://api.acme.test/v1/x?k=1',
      'http://10.1.2.3:8000/',
      'wss://host/path',
      'www.acme.com/help',
      'postgres://u:p@db/x',
      'api.acme.io/v1?token=ab',
    ],
  ],
  [
    'host',
    [
      'api.acme.com',
      'llm.prod.svc.cluster.local',
      'node-7.internal',
      'gpu01.acme.lan:8443',
      'backend:8443',
      'localhost:3000',
      'vllm-gateway',
      'ip-10-0-3-7',
    ],
  ],
  [
    'address',
    ['10.0.0.1', '192.168.1.10:8080', '2001:db8::ff00:42:8329', 'fe80::1%eth0', '[::1]:443', '172.16.0.0/12'],
  ],
  ['mail', ['ops@acme.com', 'j.doe+x@mail.acme.co.uk', 'root@localhost']],
  [
    'id',
    [
      'org-AbCdEf123',
      'org_acme',
      'proj_abc',
      'acct_1A2b',
      'req_011CSHoEeqs5C35K2UUqR7Fy',
      'req-77',
      'user-x7Gh2',
    ],
  ],
  ['uuid', ['123e4567-e89b-12d3-a456-426614174000', '00000000-0000-4000-8000-000000000000']],
  [
    'cloud',
    [
      'arn:aws:bedrock:us-east-1:123456789012:model/x',
      'projects/acme-prod/locations/x',
      '/subscriptions/acme/resourceGroups/rg',
      '123456789012',
      'ocid1.tenancy.oc1',
    ],
  ],
  ['path', ['/home/jane/srv/app.py', 'C:\\srv\\keys', '/usr/lib/python3/site.py']],
  ['own', [SECRET, SECRET.toUpperCase(), 'X-Team value', 'tiny']],
]
const ALL = CANARIES.flatMap(([kind, list]) => list.map((canary) => [kind, canary] as const))
/** Words that introduce an id of letters only, which has no other mark. */
const INTRODUCED = [
  'organization: acmecorp',
  "project 'acmecorp'",
  'in account acme-corp-west',
  '(request id: acmecorp)',
  '"request_id": "acmecorp"',
  'requestId=acmecorp',
  'x-request-id: acmecorp',
  'workspace `acmecorp`',
  'api key: acmecorp',
  'Incorrect API key provided: acmecorp.',
  'Authorization: Bearer acmecorp',
  'password=acmecorp',
  'tenant id acmecorp',
]

/** The parts of the canary that are long enough to reveal it. */
function survives(text: string, canary: string): boolean {
  const bare = canary.replace(/^[a-z]+:\/\//, '')
  return text.toLowerCase().includes(canary.toLowerCase()) || (bare.length > 5 && text.includes(bare))
}

const around = fc.constantFrom('', '"', "'", '`', '(', '<', '[', '{"a":"', '=', 'key=', 'id:', '，', '“')
const behind = fc.constantFrom(
  '',
  '"',
  "'",
  '`',
  ')',
  '>',
  ']',
  '"}',
  '.',
  ',',
  '!',
  ':',
  ';',
  '…',
  '。',
  '?',
)
const filler = fc.array(
  fc.constantFrom(
    'the',
    'value',
    'of',
    'temperature',
    'must',
    'be',
    '0.5',
    'messages[0].content',
    '，',
    '错误',
    'is',
    'not',
    '<=',
    '2',
  ),
  { maxLength: 40 },
)

describe('no canary survives', () => {
  test.each(ALL)('%s: %s', (_kind, canary) => {
    for (const words of [
      `Refused ${canary} here`,
      `${canary} was refused`,
      `Refused: ${canary}`,
      `Refused "${canary}".`,
      `Refused (see ${canary}), sorry`,
      `拒绝了${canary}请求`,
      JSON.stringify({ refused: canary }),
    ])
      expect(survives(shown(words) ?? '', canary), words).toBe(false)
  })

  test.each(INTRODUCED)('%s', (words) => {
    expect(shown(`It was refused ${words} and so on`)).not.toContain('acme')
    expect(shown(`It was refused ${words}`)).not.toContain('acme')
  })

  test('in any position, next to any text', () => {
    fc.assert(
      fc.property(
        filler,
        around,
        fc.constantFrom(...ALL),
        behind,
        filler,
        (before, open, [, canary], close, after) => {
          const words = [...before, `${open}${canary}${close}`, ...after].join(' ')
          expect(survives(shown(words) ?? '', canary)).toBe(false)
        },
      ),
      { numRuns: 1_000 },
    )
  })

  test('generated ones: keys, hosts, addresses, ids', () => {
    const word = (min: number, max: number) => fc.stringMatching(new RegExp(`^[a-z]{${min},${max}}$`))
    const random = fc
      .stringMatching(/^[A-Za-z0-9]{16,60}$/)
      .filter((text) => /\d.*\d/.test(text) && /[a-z].*[a-z]/i.test(text))
    const made = fc.oneof(
      random,
      random.map((text) => `sk-${text}`),
      random
        .map((text) => [text.slice(0, 8), text.slice(8)])
        .filter((halves) => halves.every((half) => /\d/.test(half) && /[a-z]/i.test(half)))
        .map((halves) => halves.join('-')),
      fc
        .tuple(word(2, 12), word(2, 12), fc.constantFrom('com', 'io', 'internal', 'svc', 'net', 'de'))
        .map((l) => l.join('.')),
      fc.ipV4(),
      fc.ipV6().filter((address) => address.length > 3),
      fc.emailAddress(),
      fc.webUrl({ withQueryParameters: true, withFragments: true }).filter((url) => url.length > 12),
      fc.uuid(),
      word(6, 20).map((text) => `org-${text}`),
      word(6, 20).map((text) => `proj_${text}`),
      fc.bigInt({ min: 10n ** 11n, max: 10n ** 15n }).map(String),
    )
    fc.assert(
      fc.property(filler, made, filler, (before, canary, after) => {
        const text = shown([...before, canary, ...after].join(' ')) ?? ''
        expect(survives(text, canary)).toBe(false)
      }),
      { numRuns: 1_000 },
    )
  })

  test('at the limits of the read and shown length', () => {
    for (const canary of ['sk-proj-Ab12cd34Ef56gh78', SECRET, 'api.acme.com', 'org-AbCdEf123'])
      for (const edge of [470, 480, 490, 500, 1_980, 1_990, 2_000, 16_370, 16_380])
        for (let shift = 0; shift < 24; shift++) {
          const text = shown(`${'no '.repeat((edge - shift) / 3)}${canary} end`) ?? ''
          expect(text.replaceAll('no', '').replaceAll('end', '')).toMatch(/^[ *…]*$|^[ *…]*\bn?o?e?n?d?…?$/)
        }
  })
})

test('hostile text takes linear time', () => {
  for (const part of [
    'a',
    '-',
    '.',
    '/',
    'a.',
    ':',
    '@',
    'project ',
    'api key ',
    'a?=',
    '%',
    '"',
    '\u200b',
    '{',
    'x-',
  ])
    expect((shown(`no ${part.repeat(1_000_000 / part.length)}`) ?? '').length).toBeLessThanOrEqual(500)
})

test('a word at the cut is not shown, because half of a secret is not recognized', () => {
  // These are short once masked, so text after 2,000 characters would be shown.
  const urls = Array.from({ length: 13 }, (_, n) => `https://a.example/${String(n).padEnd(130, 'x')}`)
  const head = `See ${urls.join(' ')} `
  const words = `${head.padEnd(1_995, '!')} jane.doe@corp.example says no`
  expect(shown(words)).toMatch(/^See \*\*\*/)
  expect(shown(words)).not.toMatch(/jane|doe/)
})

test.each(['messages.corp.internal', 'input.example.com', 'Prod.Internal'])(
  'a host whose name begins like a field is masked: %s',
  (host) => expect(shown(`no answer from ${host} today`)).toBe('no answer from *** today'),
)
