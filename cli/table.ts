/** Text tables: columns aligned by spaces, no colours. Rows that do not fit the screen are wrapped, never cut. */

const GAP = '  '
const INDENT = '    '
const EMPTY = '-'

export type Cell = string | number | boolean | undefined

/** The lines of a table, with its heads in upper case. `width`: columns of the screen, undefined for no bound. */
export function table(
  heads: readonly string[],
  rows: readonly (readonly Cell[])[],
  width: number | undefined,
): string {
  return new Table(heads, width).lines(rows)
}

/** A table that grows: later rows use the columns of the first ones if they fit. */
export class Table {
  readonly #heads: readonly string[]
  readonly #room: number
  #widths: number[]
  #begun = false

  constructor(heads: readonly string[], width: number | undefined) {
    this.#heads = heads.map((head) => head.toUpperCase())
    // On a narrower screen nearly every word would get a line of its own.
    this.#room = Math.max(width ?? Infinity, 40)
    this.#widths = this.#heads.map(lengthOf)
  }

  /** Shows an empty cell as "-". */
  lines(rows: readonly (readonly Cell[])[]): string {
    const cells = rows.map((row) => this.#heads.map((_, i) => textOf(row[i])))
    this.#widths = this.#widths.map((width, i) =>
      Math.max(width, ...cells.map((row) => lengthOf(row[i] ?? ''))),
    )
    const heads = this.#begun ? [] : [this.#heads]
    this.#begun = true
    return [...heads, ...cells].flatMap((row) => this.#wrapped(row)).join('\n')
  }

  /** Moves whole columns to the next line, heads included, so that a column is in the same place in all rows. */
  #wrapped(row: readonly string[]): string[] {
    const lines: { cells: string[]; at: number }[] = [{ cells: [], at: 0 }]
    row.forEach((cell, i) => {
      const width = this.#widths[i] ?? 0
      let line = lines.at(-1)
      if (line === undefined || (line.at > INDENT.length && line.at + width > this.#room)) {
        line = { cells: [], at: INDENT.length }
        lines.push(line)
      }
      line.cells.push(cell + ' '.repeat(Math.max(0, width - lengthOf(cell))))
      line.at += width + GAP.length
    })
    const [first = '', ...more] = lines.map(({ cells }) => cells.join(GAP).trimEnd())
    const nonEmpty = more.filter((line) => !/^[-\s]*$/.test(line))
    const [head = '', ...rest] = broken(first, this.#room)
    const below = [...rest, ...nonEmpty].flatMap((line) => broken(line, this.#room - INDENT.length))
    return [head, ...below.map((line) => INDENT + line)]
  }
}

/** Breaks a line that is longer than the screen, between words if possible. */
function broken(line: string, room: number): string[] {
  const parts: string[] = []
  let rest = [...line]
  while (rest.length > room) {
    const space = rest.lastIndexOf(' ', room)
    const at = space > 0 ? space : room
    parts.push(rest.slice(0, at).join('').trimEnd())
    rest = [...rest.slice(at).join('').trimStart()]
  }
  return [...parts, rest.join('')]
}

/** Text for a terminal. Without this, text that clients wrote could move the cursor. */
export function plain(value: string): string {
  return value.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '?')
}

function textOf(cell: Cell): string {
  if (cell === undefined || cell === '') return EMPTY
  if (typeof cell === 'boolean') return cell ? 'yes' : 'no'
  return plain(String(cell))
}

const lengthOf = (text: string) => [...text].length
