/** Tables for terminals: columns aligned by spaces, no colours, at most 120 columns wide. */

const MAX_WIDTH = 120
const GAP = '  '
/** A cut cell keeps at least this much. */
const MIN_CELL = 6

export type Cell = string | number | boolean | undefined

/** Lines of a table with its heads in upper case; an empty cell is shown as "-". Columns of `whole` are never cut. */
export function table(
  heads: readonly string[],
  rows: readonly (readonly Cell[])[],
  whole: readonly string[] = [],
): string {
  const cells = [
    heads.map((head) => head.toUpperCase()),
    ...rows.map((row) => heads.map((_, i) => text(row[i]))),
  ]
  const wanted = heads.map((head, i) => ({
    width: Math.max(...cells.map((row) => [...(row[i] ?? '')].length)),
    whole: whole.includes(head),
  }))
  const widths = narrowed(wanted)
  return cells
    .map((row) =>
      row
        .map((cell, i) => pad(cell, widths[i] ?? 0))
        .join(GAP)
        .trimEnd(),
    )
    .join('\n')
}

/** Text for a terminal: what clients wrote must not move its cursor. */
export function plain(value: string): string {
  return value.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '?')
}

function text(cell: Cell): string {
  if (cell === undefined || cell === '') return '-'
  if (typeof cell === 'boolean') return cell ? 'yes' : 'no'
  return plain(String(cell))
}

/** Takes from the widest columns what is too much. */
function narrowed(wanted: readonly { width: number; whole: boolean }[]): number[] {
  const columns = wanted.map((column) => ({ ...column }))
  const room = MAX_WIDTH - GAP.length * (columns.length - 1)
  while (columns.reduce((sum, { width }) => sum + width, 0) > room) {
    const [widest] = columns.filter((column) => !column.whole).toSorted((a, b) => b.width - a.width)
    if (widest === undefined || widest.width <= MIN_CELL) break
    widest.width--
  }
  return columns.map(({ width }) => width)
}

function pad(cell: string, width: number): string {
  const characters = [...cell]
  return characters.length <= width
    ? cell + ' '.repeat(width - characters.length)
    : `${characters.slice(0, width - 1).join('')}…`
}
