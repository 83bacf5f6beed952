/** A fault in a document. */
export interface Problem {
  file: string
  /** From 1. */
  line: number
  /** From 1. */
  column: number
  /** "ApiKey/alice", if kind and name are known. */
  subject: string | undefined
  /** What is wrong and what to change. Never quotes a value. */
  message: string
}

/** One line for people: where the problem is, what it is, and what to change. */
export function problemText(problem: Problem): string {
  const subject = problem.subject === undefined ? '' : `${problem.subject}: `
  return `${problem.file}:${problem.line}:${problem.column}: ${subject}${problem.message}`
}
