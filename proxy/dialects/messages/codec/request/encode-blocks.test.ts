import { describe, expect, test } from 'vitest'
import type { UserPart } from '../../../core/neutral/types.ts'
import { assistant, block, encode, text, user } from './encode-testing.ts'

describe('content', () => {
  const content = (...parts: UserPart[]) => {
    const { body, losses } = encode({ turns: [user(...parts)] })
    const [message] = Array.isArray(body.messages) ? body.messages : []
    return { blocks: message.content, losses }
  }
  const PNG_BYTES = 'iVBORw0KGgoAAAAA'

  test('images have the type of their bytes', () => {
    const { blocks } = content(
      { type: 'image', source: { kind: 'data', mediaType: 'image/jpeg', base64: PNG_BYTES } },
      { type: 'image', source: { kind: 'data', mediaType: 'image/jpg', base64: 'AAAA' }, detail: 'auto' },
    )
    expect(blocks).toMatchObject([
      { source: { media_type: 'image/png' } },
      { source: { media_type: 'image/jpeg' } },
    ])
  })

  test('files are documents, with their names as titles', () => {
    const base64 = Buffer.from('héllo').toString('base64')
    const { blocks, losses } = content(
      { type: 'file', source: { kind: 'data', mediaType: 'application/pdf', base64: 'AAAA' }, name: 'a.pdf' },
      { type: 'file', source: { kind: 'data', mediaType: 'text/plain', base64 }, name: 'a.txt' },
      { type: 'file', source: { kind: 'url', url: 'https://x/y.pdf' } },
    )
    expect(blocks).toEqual([
      {
        type: 'document',
        source: { type: 'base64', media_type: 'application/pdf', data: 'AAAA' },
        title: 'a.pdf',
      },
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'héllo' }, title: 'a.txt' },
      { type: 'document', source: { type: 'url', url: 'https://x/y.pdf' } },
    ])
    expect(losses).toEqual([])
  })

  test('text of another type becomes plain text, with a loss', () => {
    const { blocks, losses } = content({
      type: 'file',
      source: { kind: 'data', mediaType: 'text/csv', base64: 'YSxi' },
    })
    expect(blocks).toEqual([
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'a,b' } },
    ])
    expect(losses).toEqual(['messages.content.file'])
  })

  test('parts that the assistant cannot have are dropped, and a refusal becomes text', () => {
    const { body, losses } = encode({
      turns: [
        text('Q'),
        assistant(
          { type: 'refusal', text: 'No.' },
          { type: 'image', source: { kind: 'url', url: 'u' } },
          { type: 'hosted', dialect: 'responses', name: 'web_search_call', item: {} },
        ),
        text('Q2'),
      ],
    })
    expect(body.messages).toMatchObject([{}, { content: [block('No.')] }, {}])
    expect(losses).toEqual(['hosted', 'messages.content.image_url', 'messages.refusal'])
  })
})
