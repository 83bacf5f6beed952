/** `make down`: stops what `make up` has started, and nothing else. Data and ports stay for the next time. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { stopCluster } from './cluster.ts'
import { runDir } from './run-dir.ts'
import { ClusterState } from './state.ts'

const state = new ClusterState(runDir())
const names = state.running().map(({ name }) => name)
await stopCluster(state)
rmSync(join(state.dir, 'env'), { force: true })
console.log(names.length === 0 ? 'nothing was running' : `stopped: ${names.join(', ')}`)
