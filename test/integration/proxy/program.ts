/** `sluice proxy` as a process of its own. */
import { onTestFinished } from 'vitest'
import { endProgram, type Program, startSluice } from '../../harness/program.ts'
import { PATIENT } from '../../harness/redis.ts'
import type { World } from './world.ts'

export interface ProxyProgram {
  program: Program
  pid: number
  base: string
  admin: string
}

/** Resolves when it listens. Ends with the test. */
export async function startProxyProgram(
  { redis, sealingKeys }: Pick<World, 'redis' | 'sealingKeys'>,
  env: Record<string, string> = {},
): Promise<ProxyProgram> {
  const program = startSluice(
    { SLUICE_REDIS_URL: redis.url, SLUICE_SEALING_KEYS_FILE: sealingKeys, ...PATIENT, ...env },
    ['proxy'],
  )
  onTestFinished(() => endProgram(program))
  const [, port, adminPort] = await program.printed(/"port":(\d+),"adminPort":(\d+),"msg":"listening"/)
  return {
    program,
    pid: program.child.pid ?? 0,
    base: `http://127.0.0.1:${port}`,
    admin: `http://127.0.0.1:${adminPort}`,
  }
}
