/** Records test results for the conversion matrix; tools/matrix.ts generates the page. */
import { appendFileSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Feature, Observation } from '../../tools/matrix.ts'

export type { Feature, Observation } from '../../tools/matrix.ts'

/** `make test` empties the folder; results of manual runs add up. */
const REPORT = join(import.meta.dirname, '..', '..', '.run', 'reports', 'matrix.jsonl')

const written = new Set<string>()

/** Records a cell as proven: call it after the test's assertions. */
export function recordCell(observation: Observation): void {
  const line = `${JSON.stringify(observation)}\n`
  if (written.has(line)) return
  written.add(line)
  mkdirSync(dirname(REPORT), { recursive: true })
  // One short write, so that lines of several workers do not mix.
  appendFileSync(REPORT, line)
}

/** Losses that concern a feature; the others belong to other cells. */
const CONCERNS: Partial<Record<Feature, RegExp>> = {
  tools: /^tools|tool_choice|parallel_tool_calls|tool_calls|call/,
  'parallel tools': /^tools|tool_choice|parallel_tool_calls|tool_calls|call/,
  image: /image|source/,
  PDF: /file|source|title/,
  reasoning: /reasoning|thinking|effort|signature|encrypted_content/,
  'structured output': /response_format|text\.format|output_config\.format/,
  stop: /stop/,
}

/** `lossy` if a loss concerns the feature, otherwise `exact`; so is every feature without an entry in CONCERNS. */
export function resultOf(
  feature: Feature,
  losses: readonly string[],
): Pick<Observation, 'result' | 'losses'> {
  const relevant = losses.filter((loss) => CONCERNS[feature]?.test(loss)).sort()
  return relevant.length === 0 ? { result: 'exact' } : { result: 'lossy', losses: relevant }
}
