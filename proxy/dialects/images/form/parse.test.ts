import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cpuMs } from '../../../../test/harness/cpu.ts'
import { GatewayError } from '../../../errors.ts'
import { multipartType, readBoundary } from './boundary.ts'
import { parseForm } from './parse.ts'

const MAX_PARTS = 64

import { type Field, writeForm } from './write.ts'

/** The parts of a form in plain text; every line end is CR LF. */
function read(text: string, boundary = 'b') {
  const body = Buffer.from(text.replaceAll('\n', '\r\n'), 'latin1')
  return parseForm(body, boundary, MAX_PARTS).map(({ start, end, ...head }) => ({
    ...head,
    content: body.toString('latin1', start, end),
  }))
}

function problem(text: string, boundary = 'b'): string {
  try {
    read(text, boundary)
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'invalid_request') return error.message
    throw error
  }
  return ''
}

const part = (content: string, headers = 'Content-Disposition: form-data; name="a"') =>
  `--b\n${headers}\n\n${content}\n`

describe('parseForm', () => {
  test('texts and files, without preamble and epilogue', () => {
    const text = `before\n--b \t\nCONTENT-disposition:form-data ; NAME=a ;\n\nline\n\n--c\nnot --b\n--bc\n-- b\n--b
Content-Type: image/png; x=1
Content-Disposition: form-data; filename="C:\\my \\"a\\".png"; name="image[]"
Content-Transfer-Encoding: binary
X-Other: 1

PNG
--b
Content-Disposition: form-data; name="e"; filename=""


--b--after
--b
`
    expect(read(text)).toEqual([
      { name: 'a', content: 'line\r\n\r\n--c\r\nnot --b\r\n--bc\r\n-- b' },
      { name: 'image[]', filename: 'C:\\my "a".png', contentType: 'image/png; x=1', content: 'PNG' },
      { name: 'e', filename: '', content: '' },
    ])
  })

  test('a name in another encoding', () => {
    const headers = `Content-Disposition: form-data; name="image"; filename*=UTF-8''a%20b.png`
    expect(read(`${part('x', headers)}--b--`)).toEqual([
      { name: 'image', filename: 'a%20b.png', content: 'x' },
    ])
  })

  test('a form without parts', () => {
    expect(read('--b--')).toEqual([])
  })

  const name = (length: number) => `Content-Disposition: form-data; name="${'n'.repeat(length)}"`
  test.each([
    ['does not have the boundary', ''],
    ['does not have the boundary', '--a\n\n--a--'],
    ['does not have the boundary', 'x--b--'],
    ['ends before its last boundary', part('x')],
    ['ends before its last boundary', `${part('x')}--b-`],
    ['ends before its last boundary', `${part('x')}--b--`.replace('\n--b--', '--b--')],
    ['ends within the headers', '--b\nContent-Disposition: form-data; name="a"'],
    ['ends within the headers', `${part('x')}--b\n`],
    ['more than 8192 bytes of headers', part('x', `X-Long: ${'x'.repeat(9000)}`)],
    ['malformed headers', '--b\n\n\n--b--'],
    ['without a name', part('x', 'Content-Type: text/plain')],
    ['without a name', part('x', 'Content-Disposition: attachment; name="a"')],
    ['without a name', part('x', 'Content-Disposition: form-data; name=""')],
    ['without a name', part('x', 'Content-Disposition: form-data; name="a')],
    ['without a name', part('x', 'Content-Disposition: form-data; name="a" b')],
    ['without a name', part('x', 'Content-Disposition: form-data; name="a"; name="b"')],
    ['without a name', part('x', name(201))],
    ['malformed headers', part('x', 'Content-Disposition form-data; name="a"')],
    ['malformed headers', part('x', ': form-data; name="a"')],
    ['malformed headers', part('x', `${name(1)}\n ; x="folded"`)],
    ['malformed headers', part('x', `${name(1)}\n${name(1)}`)],
    ['malformed headers', part('x', 'Content-Disposition: form-data; name="a\rX: b"')],
    ['malformed headers', part('x', 'Content-Disposition: form-data; name="a\0"')],
    ['transfer encoding', part('x', `${name(1)}\nContent-Transfer-Encoding: base64`)],
    ['content type of more than 200', part('x', `${name(1)}\nContent-Type: ${'x'.repeat(201)}`)],
    ['more than 64 parts', `${part('x').repeat(65)}--b--`],
  ])('refused: it %s', (sentence, text) => {
    expect(problem(text)).toContain(sentence)
  })

  test('accepts values at the limits', () => {
    expect(read(`${part('x').repeat(63)}${part('x', name(200))}--b--`)).toHaveLength(64)
  })
})

const latin = fc.string({ unit: fc.integer({ min: 0x20, max: 0xff }).map((c) => String.fromCharCode(c)) })
const boundaryText = fc.string({
  unit: fc.constantFrom(...'abcXYZ019-_=+.'),
  minLength: 1,
  maxLength: 70,
})
const field: fc.Arbitrary<Field> = fc.record(
  {
    name: latin.filter((name) => name !== '' && !name.includes('\\') && !name.includes('\x7f')),
    filename: latin.filter((name) => !name.includes('\\') && !name.includes('\x7f')),
    contentType: fc.constantFrom('image/png', 'text/plain; charset=utf-8', ''),
    content: fc
      .array(fc.constantFrom('\r', '\n', '\r\n', '--', '-', ' ', 'a', '\r\n--', '\r\n--a'), { maxLength: 20 })
      .map((pieces) => Buffer.from(pieces.join(''))),
  },
  { requiredKeys: ['name', 'content'] },
)

describe('any form', () => {
  test('is read back unchanged', () => {
    fc.assert(
      fc.property(fc.array(field, { maxLength: 8 }), boundaryText, (fields, suffix) => {
        const boundary = `Z${suffix}`.slice(0, 70)
        const body = writeForm(fields, boundary)
        const parts = parseForm(body, readBoundary(`multipart/form-data; boundary="${boundary}"`), MAX_PARTS)
        const escaped = (text: string) => text.replaceAll('"', '%22')
        expect(
          parts.map(({ start, end, ...head }) => ({ ...head, content: body.subarray(start, end) })),
        ).toEqual(
          fields.map(({ name, filename, ...rest }) => ({
            ...rest,
            name: escaped(name),
            ...(filename !== undefined && { filename: escaped(filename) }),
          })),
        )
      }),
    )
  })

  test('of any bytes results in parts within them or in an error', () => {
    const piece = fc.constantFrom(
      '--b',
      '--',
      '\r\n',
      '\r',
      '\n',
      'content-disposition: form-data; name="a"',
      '; filename="',
      '"',
      '\\',
      ':',
      ';',
      '=',
      '\0',
      'x',
    )
    const bytes = fc.oneof(
      fc.array(piece, { maxLength: 40 }).map((pieces) => Buffer.from(pieces.join(''))),
      fc.uint8Array({ maxLength: 100 }).map((array) => Buffer.concat([Buffer.from('--b\r\n'), array])),
    )
    fc.assert(
      fc.property(bytes, (body) => {
        try {
          for (const { start, end } of parseForm(body, 'b', MAX_PARTS)) {
            expect(start).toBeLessThanOrEqual(end)
            expect(end).toBeLessThanOrEqual(body.length)
          }
        } catch (error) {
          expect(error).toBeInstanceOf(GatewayError)
        }
      }),
      { numRuns: 1000 },
    )
  })

  const long = 'a'.repeat(70)
  test.each([
    ['starts of the boundary', `\r\n--${long.slice(1)}`],
    ['line ends', '\r\n'],
    ['carriage returns', '\r'],
    ['dashes', '\r\n--'],
    ['letters of the boundary', 'a'],
    ['lines that are almost delimiters', `\r\n--${long}${' '.repeat(200)}x`],
  ])('is read in linear time: %s', (_, repeated) => {
    const content = Buffer.from(repeated.repeat(16_000_000 / repeated.length))
    const body = writeForm([{ name: 'a', content }], long)
    let read: ReturnType<typeof parseForm>[number] | undefined
    const spent = cpuMs(() => {
      read = parseForm(body, long, MAX_PARTS)[0]
    })
    expect(spent).toBeLessThan(4_000)
    expect(read && read.end - read.start).toBe(content.length)
  })
})

describe('readBoundary', () => {
  test.each([
    ['multipart/form-data; boundary=abc', 'abc'],
    ['Multipart/Form-Data; charset=utf-8; BOUNDARY="a b:c"', 'a b:c'],
    [`multipart/form-data;boundary=${'x'.repeat(70)}`, 'x'.repeat(70)],
  ])('%s', (contentType, boundary) => {
    expect(readBoundary(contentType)).toBe(boundary)
  })

  test.each([
    'multipart/form-data',
    'multipart/form-data; boundary=',
    'multipart/form-data; boundary="abc',
    'multipart/form-data; boundary="abc "',
    'multipart/form-data; boundary=a{b',
    'multipart/form-data; boundary=a; boundary=b',
    'multipart/form-datas; boundary=a',
    `multipart/form-data; boundary=${'x'.repeat(71)}`,
  ])('refuses %s', (contentType) => {
    expect(() => readBoundary(contentType)).toThrow(/must name a valid boundary/)
  })
})

describe('other implementations', () => {
  test('their forms are read', async () => {
    const form = new FormData()
    form.append('prompt', 'Grüße\n"x"')
    form.append('image[]', new File([Buffer.from('\r\n--PNG')], 'ü "1".png', { type: 'image/png' }))
    form.append('image[]', new Blob(['']))
    const response = new Response(form)
    const boundary = readBoundary(response.headers.get('content-type') ?? '')
    const body = Buffer.from(await response.arrayBuffer())
    const utf8 = (text: string) => Buffer.from(text, 'latin1').toString()
    const parts = parseForm(body, boundary, MAX_PARTS).map(({ start, end, name, filename, contentType }) => [
      name,
      filename && utf8(filename),
      contentType,
      body.toString('utf8', start, end),
    ])
    expect(parts).toEqual([
      ['prompt', undefined, undefined, 'Grüße\r\n"x"'],
      ['image[]', 'ü %221%22.png', 'image/png', '\r\n--PNG'],
      ['image[]', 'blob', 'application/octet-stream', ''],
    ])
  })

  test('they read the gateway’s forms', async () => {
    const fields: Field[] = [
      { name: 'prompt', content: 'Grüße' },
      {
        name: 'image',
        filename: 'a "1".png',
        contentType: 'image/png',
        content: Buffer.from('\r\n--PNG\r\n'),
      },
    ]
    const headers = { 'content-type': multipartType('a-b') }
    const form = await new Response(writeForm(fields, 'a-b'), { headers }).formData()
    expect(form.get('prompt')).toBe('Grüße')
    const file = form.get('image')
    if (!(file instanceof File)) throw new Error('no file')
    expect([file.name, file.type, await file.text()]).toEqual(['a "1".png', 'image/png', '\r\n--PNG\r\n'])
  })
})
