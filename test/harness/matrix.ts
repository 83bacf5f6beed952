/** Where tests write down what they saw of the conversion matrix; tools/matrix.ts makes the page of it. */
import { appendFileSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Feature, Observation } from '../../tools/matrix.ts'

export type { Feature, Observation } from '../../tools/matrix.ts'

/** `make test` empties the folder; what several runs by hand append is merged. */
const REPORT = join(import.meta.dirname, '..', '..', '.run', 'reports', 'matrix.jsonl')

const written = new Set<string>()

/** Call it where a test has passed: what is written counts as shown. */
export function recordCell(observation: Observation): void {
  const line = `${JSON.stringify(observation)}\n`
  if (written.has(line)) return
  written.add(line)
  mkdirSync(dirname(REPORT), { recursive: true })
  // One short write: lines of several workers do not mix.
  appendFileSync(REPORT, line)
}

/** Losses that concern a feature: the others belong to other cells. */
const CONCERNS: Partial<Record<Feature, RegExp>> = {
  tools: /^tools|tool_choice|parallel_tool_calls|tool_calls|call/,
  'parallel tools': /^tools|tool_choice|parallel_tool_calls|tool_calls|call/,
  image: /image|source/,
  PDF: /file|source|title/,
  reasoning: /reasoning|thinking|effort|signature|encrypted_content/,
  'structured output': /response_format|text\.format|output_config\.format/,
  stop: /stop/,
}

/** `exact` or `lossy` by the losses that concern the feature; none concerns one that is not in the table. */
export function resultOf(
  feature: Feature,
  losses: readonly string[],
): Pick<Observation, 'result' | 'losses'> {
  const concerned = losses.filter((loss) => CONCERNS[feature]?.test(loss)).sort()
  return concerned.length === 0 ? { result: 'exact' } : { result: 'lossy', losses: concerned }
}
