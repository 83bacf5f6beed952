/**
 * The environment that every program of a test gets: where programs are, and where Node keeps what it has compiled, with
 * which a program starts at half the cost.
 */
export function basicEnv(): Record<string, string> {
  const { PATH = '', NODE_COMPILE_CACHE } = process.env
  return { PATH, ...(NODE_COMPILE_CACHE !== undefined && { NODE_COMPILE_CACHE }) }
}

/** Settings of programs that serve the requests of a test: a busy machine must not make them refuse any as overloaded. */
export const NEVER_SHEDS = { SLUICE_MAX_LOOP_DELAY: '60s' }
