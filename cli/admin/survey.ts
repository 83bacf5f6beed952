/** Asks admin ports, many at once, and sorts out who answers. */
import type { z } from 'zod'
import { type Instance, statusAnswer } from './answers.ts'
import { AdminFailure, type AdminPort } from './port.ts'

/** A port that answered, with the programs behind it. */
export interface Reached {
  port: AdminPort
  instances: Instance[]
}

/** A port that did not, and why. */
export interface Unreached {
  name: string
  reason: string
}

export interface Survey {
  reached: Reached[]
  unreached: Unreached[]
}

/** Asks every port who it is. Never rejects for a port that does not answer. */
export async function survey(ports: readonly AdminPort[]): Promise<Survey> {
  const found: Survey = { reached: [], unreached: [] }
  const answers = await Promise.all(
    ports.map(async (port) => ({ port, answer: await tried(port, '/status', statusAnswer) })),
  )
  for (const { port, answer } of answers) {
    if ('value' in answer) found.reached.push({ port, instances: answer.value.instances })
    else found.unreached.push({ name: port.name, reason: answer.failure.message })
  }
  return found
}

/** Ports behind which a program of this role runs. */
export function ofRole({ reached }: Survey, role: Instance['role']): AdminPort[] {
  return reached.filter(({ instances }) => instances.some((one) => one.role === role)).map(({ port }) => port)
}

/** The answer of a page, or why there is none. */
export async function tried<Schema extends z.ZodType>(
  port: AdminPort,
  path: string,
  schema: Schema,
  query?: Readonly<Record<string, string>>,
): Promise<{ value: z.output<Schema> } | { failure: AdminFailure }> {
  try {
    const parsed = schema.safeParse(await port.get(path, query))
    if (parsed.success) return { value: parsed.data }
    return { failure: new AdminFailure(200, `answers ${path} in a form that this version does not know`) }
  } catch (error) {
    if (error instanceof AdminFailure) return { failure: error }
    throw error
  }
}
