/** One request and its answer, as they are stored. */
import { z } from 'zod'

export interface StoredExchange {
  /** Items that the request added, JSON texts. */
  input: string[]
  /** Items of the answer as a client sends them back, JSON texts. */
  output: string[]
  /** The response as its client got it, JSON text. */
  response: string
}

const schema = z.object({ input: z.array(z.string()), output: z.array(z.string()), response: z.string() })

export function writeExchange({ input, output, response }: StoredExchange): string {
  return JSON.stringify({ input, output, response })
}

/** Undefined for a text that writeExchange did not write. */
export function readExchange(text: string): StoredExchange | undefined {
  try {
    return schema.parse(JSON.parse(text))
  } catch {
    return undefined
  }
}
