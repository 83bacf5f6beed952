/** Verdicts of kstatus, the library by which Helm's --wait and Flux read a status. */
import { execFileSync } from 'node:child_process'
import { goProgram } from '../assets/go-program.ts'

export type Verdict = 'InProgress' | 'Failed' | 'Current' | 'Terminating' | 'NotFound' | 'Unknown'

/** One verdict for each object, which is JSON text from the API server. */
export function kstatus(objects: readonly string[]): Verdict[] {
  const out = execFileSync(program(), { input: `[${objects.join(',')}]`, encoding: 'utf8' })
  return out.trim().split('\n').map(verdictOf)
}

/** The program beside this file; builds it if it is missing. */
export const program = (): string => goProgram(import.meta.dirname)

const VERDICTS: readonly Verdict[] = ['InProgress', 'Failed', 'Current', 'Terminating', 'NotFound', 'Unknown']

function verdictOf(line: string): Verdict {
  const verdict = VERDICTS.find((known) => known === line)
  if (verdict === undefined) throw new Error(`kstatus says ${line}`)
  return verdict
}
