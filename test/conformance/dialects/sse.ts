/** Server-sent events as the specification of HTML reads them: short and slow, to hold the product's reader against. */
export interface SpecEvent {
  event: string
  data: string
}

/** All events with data, a last one without its empty line included, as every client of model APIs takes them. */
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

/** Events in the plainest framing. */
export const writeEvents = (events: readonly SpecEvent[]): string => events.map(write).join('')

function write({ event, data }: SpecEvent): string {
  const lines = data.split('\n').map((line) => `data: ${line}\n`)
  return `${event === '' ? '' : `event: ${event}\n`}${lines.join('')}\n`
}
