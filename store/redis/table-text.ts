/**
 * The text of a published table: one JSON document in which each route and each channel has a line of its own, that begins with a
 * blank. A reader need not parse them at one go: for ten thousand that takes 40 ms, while no request is served. One that
 * does not know of the lines reads the same document, and one without lines is read as a whole.
 */
import type { PublishedTable } from '../../contract/table/records.ts'

export function tableText({ epoch, generation, table }: PublishedTable): string {
  const namespaces = Object.entries(table.namespaces).map(([name, { routes, channels }]) => {
    const routeLines = routes.map(line)
    const channelLines = Object.entries(channels).map(([key, one]) => `${JSON.stringify(key)}:${line(one)}`)
    return `${JSON.stringify(name)}:{"routes":[${routeLines.join()}],"channels":{${channelLines.join()}}}`
  })
  const head = `"version":${JSON.stringify(table.version)},"namespaces"`
  return `{"epoch":${epoch},"generation":${generation},"table":{${head}:{${namespaces.join()}}}}`
}

const line = (record: object) => `\n ${JSON.stringify(record)}\n`

/** A table taken apart. */
export interface TableParts {
  /** The document, not checked, with numbers in the places of the texts. */
  outline: unknown
  /** By these numbers. */
  texts: readonly string[]
}

/** Throws SyntaxError. */
export function partsOf(text: string): TableParts {
  const texts: string[] = []
  const outline = text.split('\n').map((one) => (one.startsWith(' ') ? texts.push(one) - 1 : one))
  return { outline: JSON.parse(outline.join('')), texts }
}
