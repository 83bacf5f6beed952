/** What a scripted model says, whatever the dialect. */

export const DIALECTS = ['chat', 'responses', 'messages'] as const
export type DialectName = (typeof DIALECTS)[number]

/** Each client dialect with each upstream dialect. */
export const PAIRS = DIALECTS.flatMap((client) => DIALECTS.map((upstream) => ({ client, upstream })))
/** Each of them whole and as a stream. */
export const CELLS = PAIRS.flatMap((pair) => [
  { ...pair, stream: false },
  { ...pair, stream: true },
])

export interface Call {
  id: string
  name: string
  /** JSON text. */
  input: string
  /** Free text for a custom tool: `input` is then how it is said where there are only functions. */
  free?: string
}

/** A call of a custom tool. */
export const customCall = (id: string, name: string, free: string): Call => ({
  id,
  name,
  free,
  input: JSON.stringify({ input: free }),
})

export interface Counts {
  /** All input, cached or not. */
  input: number
  cached: number
  written: number
  output: number
  /** Part of the output. */
  reasoning: number
}

/** The answer of a model. What is absent it did not say. */
export interface ScriptedAnswer {
  reasoning?: string
  /** Its signature, or encrypted content. */
  opaque?: string
  text?: string
  calls?: Call[]
  /** Why it ended; calls say for themselves. */
  end?: 'stop' | 'length' | 'filter'
  /** The stop sequence that ended it, for dialects that tell. */
  stopSequence?: string
  counts?: Counts
}

export const COUNTS: Counts = { input: 100, cached: 40, written: 10, output: 30, reasoning: 12 }

/** A text in pieces of a word. */
export const words = (text: string): string[] => text.split(/(?<= )/)
