/** Reads admin ports in parallel, and separates those that answer from those that do not. */
import type { z } from 'zod'
import { type Instance, statusAnswer } from './answers.ts'
import { AdminFailure, type AdminPort } from './port.ts'

/** A port that answered, with the programs behind it. */
interface Reached {
  port: AdminPort
  instances: Instance[]
}

/** A port that did not answer, and why. */
interface Unreached {
  name: string
  reason: string
}

export interface Survey {
  reached: Reached[]
  unreached: Unreached[]
}

/** Reads `/status` of every port. Never rejects for a port that does not answer. */
export async function survey(ports: readonly AdminPort[]): Promise<Survey> {
  const { answered, unreached } = await askAll(ports, '/status', statusAnswer)
  return { reached: answered.map(({ port, value }) => ({ port, instances: value.instances })), unreached }
}

/** Reads a page of every port, and separates the answers from the failures. */
export async function askAll<Schema extends z.ZodType>(
  ports: readonly AdminPort[],
  path: string,
  schema: Schema,
  query?: Readonly<Record<string, string>>,
): Promise<{ answered: { port: AdminPort; value: z.output<Schema> }[]; unreached: Unreached[] }> {
  const answers = await Promise.all(
    ports.map(async (port) => ({ port, ...(await tried(port, path, schema, query)) })),
  )
  return {
    answered: answers.filter((answer) => 'value' in answer),
    unreached: answers
      .filter((answer) => 'failure' in answer)
      .map(({ port, failure }) => ({ name: port.name, reason: failure.message })),
  }
}

/** For people. */
export const troubleOf = ({ name, reason }: Unreached) => `${name} ${reason}`

/** The ports of programs with this role; a leader, which knows most, comes first. */
export function ofRole({ reached }: Survey, role: Instance['role']): AdminPort[] {
  const leads = ({ instances }: Reached) => instances.some(({ leading }) => leading === true)
  return reached
    .filter(({ instances }) => instances.some((one) => one.role === role))
    .toSorted((a, b) => Number(leads(b)) - Number(leads(a)))
    .map(({ port }) => port)
}

/** Reads a page; returns the failure instead of throwing it. */
export async function tried<Schema extends z.ZodType>(
  port: AdminPort,
  path: string,
  schema: Schema,
  query?: Readonly<Record<string, string>>,
): Promise<{ value: z.output<Schema> } | { failure: AdminFailure }> {
  try {
    const parsed = schema.safeParse(await port.get(path, query))
    if (parsed.success) return { value: parsed.data }
    return { failure: new AdminFailure(200, `answers ${path} in a form that this version cannot read`) }
  } catch (error) {
    if (error instanceof AdminFailure) return { failure: error }
    throw error
  }
}
