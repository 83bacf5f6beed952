import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { dataUrl, imageType, markdownImage, parseDataUrl, sniffMediaType } from './media.ts'
import type { Media } from './types.ts'

const data = (mediaType: string, base64: string): Media => ({ kind: 'data', mediaType, base64 })
const bytes = (text: string) => Buffer.from(text, 'latin1').toString('base64')

describe('data URLs', () => {
  it.each<[string, string, Media]>([
    ['plain', 'data:image/png;base64,AAAA', data('image/png', 'AAAA')],
    ['type in capitals', 'DATA:Image/PNG;BASE64,AAAA', data('image/png', 'AAAA')],
    ['a charset', 'data:image/png;charset=utf-8;base64,AAAA', data('image/png', 'AAAA')],
    ['spaces', 'data:image/png; base64,AAAA', data('image/png', 'AAAA')],
    ['one padding missing', 'data:image/png;base64,AAA', data('image/png', 'AAA=')],
    ['two paddings missing', 'data:image/png;base64,AA', data('image/png', 'AA==')],
    ['padded', 'data:image/png;base64,AA==', data('image/png', 'AA==')],
    ['URL alphabet', 'data:image/png;base64,-_-_', data('image/png', '+/+/')],
    ['lines', 'data:image/png;base64,AA\r\nAA\n', data('image/png', 'AAAA')],
    ['percent-encoded base64', 'data:image/png;base64,%2B%2F8%3D', data('image/png', '+/8=')],
    ['no type', 'data:;base64,AAAA', data('text/plain', 'AAAA')],
    ['text', 'data:text/plain,a%20b,c', { kind: 'text', mediaType: 'text/plain', text: 'a b,c' }],
    [
      'text with a charset',
      'data:text/csv;charset=utf-8,a',
      { kind: 'text', mediaType: 'text/csv', text: 'a' },
    ],
    ['only a comma', 'data:,', { kind: 'text', mediaType: 'text/plain', text: '' }],
    ['an image as text', 'data:image/svg+xml,%3Csvg/%3E', data('image/svg+xml', bytes('<svg/>'))],
  ])('reads %s', (_, url, media) => {
    expect(parseDataUrl(url)).toEqual(media)
  })

  it.each([
    'https://example.com/data:image/png;base64,AAAA',
    'data:image/png;base64',
    'data:png;base64,AAAA',
    'data:image/png;base64,A',
    'data:image/png;base64,AA=A',
    'data:image/png;base64,AA===',
    'data:image/png;base64,<svg>',
    'data:image/png;base64,%zz',
    'data:text/plain,%ff',
    `data:${'a'.repeat(2000)}/b,`,
    '',
  ])('refuses %j', (url) => {
    expect(parseDataUrl(url)).toBeUndefined()
  })

  it('writes bytes and text in base64', () => {
    expect(dataUrl({ kind: 'data', mediaType: 'image/gif', base64: 'R0lG' })).toBe(
      'data:image/gif;base64,R0lG',
    )
    expect(dataUrl({ kind: 'text', mediaType: 'text/plain', text: 'é' })).toBe('data:text/plain;base64,w6k=')
  })

  it('reads the URLs that it writes', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (array) => {
        const media = {
          kind: 'data',
          mediaType: 'image/webp',
          base64: Buffer.from(array).toString('base64'),
        } as const
        expect(parseDataUrl(dataUrl(media))).toEqual(media)
        const url = `data:image/webp;base64,${Buffer.from(array).toString('base64url')}`
        expect(parseDataUrl(url)).toEqual(media)
      }),
    )
  })

  it('reads tens of megabytes', () => {
    const base64 = 'A'.repeat(40_000_000)
    const media = parseDataUrl(`data:image/png;base64,${base64}`)
    expect(media?.kind === 'data' && media.base64.length).toBe(base64.length)
  })
})

describe('media types by the first bytes', () => {
  it.each([
    ['image/jpeg', bytes('\xff\xd8\xff\xe0\x00\x10JFIF')],
    ['image/png', bytes('\x89PNG\r\n\x1a\n\0\0\0\rIHDR')],
    ['image/gif', bytes('GIF89a\x01\x00')],
    ['image/gif', bytes('GIF87a')],
    ['image/webp', bytes('RIFF\x24\0\0\0WEBPVP8 ')],
    ['application/pdf', bytes('%PDF-1.7\n')],
    [undefined, bytes('RIFF\x24\0\0\0WAVEfmt ')],
    [undefined, bytes('<svg xmlns=')],
    [undefined, bytes('\xff\xd8')],
    [undefined, ''],
    [undefined, '!!!'],
  ])('finds %s', (mediaType, base64) => {
    expect(sniffMediaType(base64)).toBe(mediaType)
  })
})

describe('images of answers', () => {
  it.each([
    ['image/png', bytes('\x89PNG\r\n\x1a\n\0\0\0\rIHDR'), 'webp'],
    ['image/webp', 'AAAA', 'WebP'],
    ['image/svg+xml', 'AAAA', 'svg'],
    ['image/png', 'AAAA', 'constructor'],
    ['image/png', 'AAAA', undefined],
  ])('are %s', (type, base64, format) => {
    expect(imageType(base64, format)).toBe(type)
  })

  it.each<[Media, string | undefined]>([
    [{ kind: 'data', mediaType: 'image/png', base64: 'AA' }, '![image](data:image/png;base64,AA)'],
    [{ kind: 'url', url: 'https://e.x/a(b) c?d=[1]' }, '![image](https://e.x/a%28b%29%20c?d=%5B1%5D)'],
    [{ kind: 'id', id: 'f', vendor: 'openai' }, undefined],
  ])('%j as Markdown', (source, text) => {
    expect(markdownImage(source, {})).toBe(text)
  })
})
