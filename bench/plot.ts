/** Plots as SVG text: bars of ratios, and curves. Colours are legible on light and dark pages. */

const COLOURS = ['#4c78a8', '#f58518', '#54a24b', '#b279a2', '#e45756', '#9d755d']
const TEXT = '#808080'
const FONT = 'font-family="sans-serif" font-size="12"'

const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

function label(x: number, y: number, text: string, anchor = 'start'): string {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" fill="${TEXT}" text-anchor="${anchor}">${escaped(text)}</text>`
}

function svg(title: string, width: number, height: number, parts: readonly string[]): string {
  const open = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" ${FONT}>`
  return `${[open, `<title>${escaped(title)}</title>`, ...parts, '</svg>'].join('\n')}\n`
}

function legend(names: readonly string[], left: number, top: number): string[] {
  return names.map((name, i) => {
    const y = top + i * 18
    const box = `<rect x="${left}" y="${y - 10}" width="11" height="11" fill="${COLOURS[i % COLOURS.length]}"/>`
    return box + label(left + 17, y, name)
  })
}

export interface BarGroup {
  name: string
  /** One for each series; NaN leaves the bar out. */
  values: readonly number[]
}

/** Horizontal bars in groups on a logarithmic axis, with a line at 1. */
export function bars(title: string, series: readonly string[], groups: readonly BarGroup[]): string {
  const [width, left, right, bar] = [900, 370, 50, 11]
  const groupHeight = series.length * bar + 10
  const top = 40 + series.length * 18
  const height = top + groups.length * groupHeight + 20
  const all = groups.flatMap(({ values }) => values).filter((value) => value > 0)
  const lowest = Math.min(0.5, ...all)
  const highest = Math.max(4, ...all)
  const scale = (value: number) =>
    left + (Math.log(value / lowest) / Math.log(highest / lowest)) * (width - left - right)
  const one = scale(1)
  const parts = [label(10, 20, title), ...legend(series, 10, 42)]
  parts.push(
    `<line x1="${one.toFixed(1)}" x2="${one.toFixed(1)}" y1="${top - 8}" y2="${height - 12}" stroke="${TEXT}" stroke-dasharray="3 3"/>`,
  )
  for (const [g, { name, values }] of groups.entries()) {
    const y = top + g * groupHeight
    parts.push(label(left - 8, y + (series.length * bar) / 2 + 4, name, 'end'))
    for (const [i, value] of values.entries()) {
      if (!(value > 0)) continue
      const [from, to] = [Math.min(one, scale(value)), Math.max(one, scale(value))]
      const box = `x="${from.toFixed(1)}" y="${y + i * bar}" width="${(to - from).toFixed(1)}" height="${bar - 1}"`
      parts.push(`<rect ${box} fill="${COLOURS[i % COLOURS.length]}"/>`)
      parts.push(label(to + 4, y + i * bar + 9, value.toFixed(2)))
    }
  }
  return svg(title, width, height, parts)
}

export interface Curve {
  name: string
  points: readonly { x: number; y: number }[]
}

/** Curves over a logarithmic x axis; the y axis begins at 0. */
export function curves(title: string, axes: { x: string; y: string }, lines: readonly Curve[]): string {
  const [width, height, left, right, top, bottom] = [860, 360, 60, 210, 36, 44]
  const all = lines.flatMap(({ points }) => points)
  const highestX = Math.max(10, ...all.map(({ x }) => x))
  const highestY = Math.max(...all.map(({ y }) => y)) * 1.1
  const x = (value: number) => left + (Math.log10(value) / Math.log10(highestX)) * (width - left - right)
  const y = (value: number) => height - bottom - (value / highestY) * (height - top - bottom)
  const parts = [label(10, 18, title), label((left + width - right) / 2, height - 6, axes.x, 'middle')]
  for (let decade = 1; decade <= highestX; decade *= 10)
    parts.push(label(x(decade), height - bottom + 18, decade.toLocaleString('en'), 'middle'))
  for (let step = 0; step <= 4; step++) {
    const value = (highestY * step) / 4
    parts.push(
      `<line x1="${left}" x2="${width - right}" y1="${y(value).toFixed(1)}" y2="${y(value).toFixed(1)}" stroke="${TEXT}" stroke-opacity="0.3"/>`,
      label(left - 6, y(value) + 4, value.toFixed(0), 'end'),
    )
  }
  parts.push(label(left, top - 2, axes.y))
  for (const [i, { points }] of lines.entries()) {
    const path = points.map((point) => `${x(point.x).toFixed(1)},${y(point.y).toFixed(1)}`).join(' ')
    parts.push(
      `<polyline points="${path}" fill="none" stroke="${COLOURS[i % COLOURS.length]}" stroke-width="2"/>`,
    )
  }
  const names = lines.map(({ name }) => name)
  return svg(title, width, height, [...parts, ...legend(names, width - right + 14, top + 14)])
}
