/** Writes multipart/form-data (RFC 7578). */
import type { Part } from './parse.ts'

export interface Field extends Pick<Part, 'name' | 'filename' | 'contentType'> {
  content: Buffer | string
}

export function writeForm(fields: readonly Field[], boundary: string): Buffer {
  const pieces: Buffer[] = []
  for (const { name, filename, contentType, content } of fields) {
    const file = filename === undefined ? '' : `; filename="${escaped(filename)}"`
    const type = contentType === undefined ? '' : `content-type: ${contentType}\r\n`
    const head = `--${boundary}\r\ncontent-disposition: form-data; name="${escaped(name)}"${file}\r\n${type}\r\n`
    pieces.push(Buffer.from(head, 'latin1'))
    pieces.push(typeof content === 'string' ? Buffer.from(content) : content, LINE_END)
  }
  return Buffer.concat([...pieces, Buffer.from(`--${boundary}--\r\n`)])
}

const LINE_END = Buffer.from('\r\n')
const ESCAPES: Partial<Record<string, string>> = { '"': '%22', '\r': '%0D', '\n': '%0A' }

/** As browsers write them. */
function escaped(name: string): string {
  return name.replace(/["\r\n]/g, (character) => ESCAPES[character] ?? character)
}
