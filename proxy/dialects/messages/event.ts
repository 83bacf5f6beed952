/** A server-sent event of the messages API, which names its event after the data's type. */
export function eventText(data: { type: string }): string {
  return `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`
}
