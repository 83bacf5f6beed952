/** Images, PDFs, structured output and stop sequences, for every client and upstream dialect. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { askParsed, IMAGE_URL, IMAGES, OBJECT, PDF, PDF_DATA, PDFS, PNG, PNG_DATA, STOP } from './requests.ts'
import { CELLS, type DialectName, PAIRS } from './scripted-answer.ts'
import { scripted } from './scripted-upstream.ts'
import { ask, type RequestParams, startWorld, type World } from './world.ts'

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world?.close())

/** The user message's content in the upstream's last request. */
const sentContent = (): Record<string, unknown>[] => {
  const { messages, input } = world.sent() as Record<
    string,
    { role: string; content: Record<string, unknown>[] }[]
  >
  return (messages ?? input ?? []).find(({ role }) => role === 'user')?.content ?? []
}

const WANTED: Record<'images' | 'pdf', Record<DialectName, object[]>> = {
  images: {
    chat: [
      { type: 'text', text: 'What is here?' },
      { type: 'image_url', image_url: { url: PNG_DATA } },
      { type: 'image_url', image_url: { url: IMAGE_URL } },
    ],
    responses: [
      { type: 'input_text', text: 'What is here?' },
      { type: 'input_image', image_url: PNG_DATA },
      { type: 'input_image', image_url: IMAGE_URL },
    ],
    messages: [
      { type: 'text', text: 'What is here?' },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
      { type: 'image', source: { type: 'url', url: IMAGE_URL } },
    ],
  },
  pdf: {
    chat: [
      { type: 'file', file: { file_data: PDF_DATA, filename: 'paper.pdf' } },
      { type: 'text', text: 'Summarise' },
    ],
    responses: [
      { type: 'input_file', file_data: PDF_DATA, filename: 'paper.pdf' },
      { type: 'input_text', text: 'Summarise' },
    ],
    messages: [
      {
        type: 'document',
        source: { type: 'base64', media_type: 'application/pdf', data: PDF },
        title: 'paper.pdf',
      },
      { type: 'text', text: 'Summarise' },
    ],
  },
}

describe.each(CELLS)('$client over $upstream, stream: $stream', ({ client, upstream, stream }) => {
  const send = async (params: RequestParams) => {
    world.upstream.answer(scripted({ text: 'ReadAnswer.' }))
    expect((await ask(world, client, upstream, params, stream)).text).toBe('ReadAnswer.')
  }

  it('sends images, inline and by URL', async () => {
    await send(IMAGES)
    expect(sentContent()).toMatchObject(WANTED.images[upstream])
    // `detail` does not exist in messages and is required in responses; neither counts as a loss.
    expect(world.dropped()).toEqual([])
    world.passed(client, upstream, 'image')
  })

  it('sends a PDF', async () => {
    await send(PDFS)
    expect(sentContent()).toMatchObject(WANTED.pdf[upstream])
    expect(world.dropped()).toEqual([])
    world.passed(client, upstream, 'PDF')
  })
})

describe.each(CELLS)(
  'stop sequences: $client over $upstream, stream: $stream',
  ({ client, upstream, stream }) => {
    it('end the answer', async () => {
      // A responses upstream does not support stop sequences, so the gateway cuts the answer itself.
      const cutsItself = client !== 'responses' && upstream === 'responses'
      const text = cutsItself ? 'one two EN END three' : 'one two EN '
      const known = upstream === 'messages' ? { stopSequence: 'END' } : {}
      world.upstream.answer(scripted({ text, ...(client !== 'responses' && known) }))
      const seen = await ask(world, client, upstream, STOP, stream)
      expect(seen.text).toBe('one two EN ')
      const sent = world.sent()
      if (client !== 'responses' && upstream === 'chat') expect(sent.stop).toEqual(['END'])
      if (client !== 'responses' && upstream === 'messages') expect(sent.stop_sequences).toEqual(['END'])
      if (upstream === 'responses') expect(JSON.stringify(sent)).not.toContain('END')
      const matched = client === 'messages' && (upstream === 'messages' || cutsItself)
      if (client === 'messages') expect(seen.end).toBe(matched ? 'stop_sequence' : 'end_turn')
      else expect(seen.end).toBe(client === 'chat' ? 'stop' : 'completed')
      world.passed(client, upstream, 'stop')
    })
  },
)

describe.each(PAIRS)('structured output: $client over $upstream', ({ client, upstream }) => {
  it.each([false, true])('stream: %s', async (stream) => {
    world.upstream.answer(scripted({ text: JSON.stringify(OBJECT) }))
    expect(await askParsed(world, client, upstream, stream)).toEqual(OBJECT)
    const { response_format, text, output_config } = world.sent() as Record<
      string,
      Record<string, Record<string, unknown>>
    >
    const schema = expect.objectContaining({
      type: 'object',
      properties: { city: { type: 'string' }, degrees: { type: 'number' } },
      required: ['city', 'degrees'],
      additionalProperties: false,
    })
    const wanted = {
      chat: [response_format, { type: 'json_schema', json_schema: expect.objectContaining({ schema }) }],
      responses: [text?.format, expect.objectContaining({ type: 'json_schema', schema })],
      messages: [output_config?.format, expect.objectContaining({ type: 'json_schema', schema })],
    }[upstream]
    expect(wanted[0]).toEqual(wanted[1])
    world.passed(client, upstream, 'structured output')
  })
})
