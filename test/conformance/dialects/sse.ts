/** Reads server-sent events as the HTML specification does: short and slow, to compare with the product's reader. */
export interface SpecEvent {
  event: string
  data: string
}

/** All events with data, including a last one without its empty line, which all clients of model APIs accept. */
export function specEvents(text: string): SpecEvent[] {
  const events: SpecEvent[] = []
  let event = ''
  let data: string[] = []
  for (const line of [...text.replace(/^\uFEFF/, '').split(/\r\n|\n|\r/), '']) {
    if (line === '') {
      if (data.length > 0) events.push({ event, data: data.join('\n') })
      event = ''
      data = []
      continue
    }
    const [, field, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? []
    if (field === 'data') data.push(value)
    if (field === 'event') event = value
  }
  return events
}

/** Events in the simplest framing. */
export const writeEvents = (events: readonly SpecEvent[]): string => events.map(write).join('')

function write({ event, data }: SpecEvent): string {
  const lines = data.split('\n').map((line) => `data: ${line}\n`)
  return `${event === '' ? '' : `event: ${event}\n`}${lines.join('')}\n`
}
