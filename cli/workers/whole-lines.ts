import { StringDecoder } from 'node:string_decoder'

/**
 * Takes pieces of a text, and passes on its whole lines, several at a time and without the last line break. Workers share
 * one standard output: without this their lines would be mixed. The beginning of a line that never ends is dropped.
 */
export function wholeLines(take: (lines: string) => void): (piece: Buffer) => void {
  const decoder = new StringDecoder('utf8')
  let rest = ''
  return (piece) => {
    const text = decoder.write(piece)
    const end = text.lastIndexOf('\n')
    if (end === -1) {
      rest += text
      return
    }
    const lines = rest + text.slice(0, end)
    rest = text.slice(end + 1)
    take(lines)
  }
}
