/** Sets how many cases a property test tries: FC_RUNS, or fast-check's default. `make test-all` sets thousands. */
import fc from 'fast-check'

const runs = process.env.FC_RUNS
if (runs !== undefined) fc.configureGlobal({ numRuns: Number(runs) })
