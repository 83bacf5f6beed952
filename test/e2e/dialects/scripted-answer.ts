/** Answers of a scripted model, independent of the dialect. */

export const DIALECTS = ['chat', 'responses', 'messages'] as const
export type DialectName = (typeof DIALECTS)[number]

/** Every client dialect with every upstream dialect. */
export const PAIRS = DIALECTS.flatMap((client) => DIALECTS.map((upstream) => ({ client, upstream })))
/** Every pair as JSON and as a stream. */
export const CELLS = PAIRS.flatMap((pair) => [
  { ...pair, stream: false },
  { ...pair, stream: true },
])

export interface Call {
  id: string
  name: string
  /** JSON text. */
  input: string
  /** Input of a custom tool; `input` is then its form in dialects that have only functions. */
  free?: string
}

/** A custom tool call. */
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

/** The answer of a model; absent fields are left out. */
export interface ScriptedAnswer {
  reasoning?: string
  /** The reasoning's signature or encrypted content. */
  opaque?: string
  text?: string
  calls?: Call[]
  /** Finish reason, unless there are calls. */
  end?: 'stop' | 'length' | 'filter'
  /** The stop sequence that ended the answer, for dialects that report it. */
  stopSequence?: string
  counts?: Counts
}

export const COUNTS: Counts = { input: 100, cached: 40, written: 10, output: 30, reasoning: 12 }

/** Splits a text into words. */
export const words = (text: string): string[] => text.split(/(?<= )/)
