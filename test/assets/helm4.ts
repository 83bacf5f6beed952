/** Helm 4, which the long tests install the chart with. `node test/assets/helm4.ts` builds it if it is missing, in minutes. */
import { join } from 'node:path'
import { goProgram } from './go-program.ts'

/** Path of the program. */
export const helm4 = (): string =>
  goProgram(join(import.meta.dirname, '../helm4'), 'helm.sh/helm/v4/cmd/helm')

if (import.meta.main) helm4()
