import { readFileSync } from 'node:fs'
import { z } from 'zod'

/** The version in package.json: one folder up in a checkout, two in the installed package. */
export function version(): string {
  for (const path of ['../package.json', '../../package.json']) {
    try {
      return z
        .object({ name: z.literal('sluice'), version: z.string() })
        .parse(JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'))).version
    } catch {
      // Not there: try the next path.
    }
  }
  return 'unknown'
}
