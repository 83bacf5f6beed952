import { join, resolve } from 'node:path'

/** The folder of `make up`: RUN_DIR, else .run of the checkout. */
export function runDir(): string {
  return resolve(process.env.RUN_DIR || join(import.meta.dirname, '../../.run'))
}
