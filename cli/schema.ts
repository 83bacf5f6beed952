/** `sluice schema`: prints the JSON Schema of resources, for editors. */
import { KINDS, type Kind } from '../contract/api/index.ts'
import { fileSchema, kindSchema } from '../contract/api/json-schema.ts'
import { json, type Tool, UsageError } from './command.ts'

export const schema: Tool<{ args: string[] }> = async ({ args: [name] }, terminal) => {
  const kinds: Kind[] = Object.values(KINDS)
  if (name === undefined) {
    terminal.print(json(fileSchema(kinds)))
    return 0
  }
  const wanted = name.toLowerCase()
  const kind = kinds.find((one) =>
    [one.kind.toLowerCase(), one.singular, one.plural, ...one.shortNames].includes(wanted),
  )
  if (kind === undefined)
    throw new UsageError(`there is no kind ${name}; known: ${kinds.map((one) => one.kind).join(', ')}`)
  terminal.print(json(kindSchema(kind)))
  return 0
}
