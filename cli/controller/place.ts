/** Where a controller finds its resources: a cluster or a folder. */
import type { ClusterController } from '../../controller/cluster.ts'
import type { Store } from '../../store/contract.ts'
import type { Program } from '../process.ts'

/** A controller that runs. */
export interface RunningController extends Pick<ClusterController, 'pages' | 'ended' | 'metrics'> {
  notReady(): string | undefined
  /** Fields of the line that says what it reads. */
  about: Record<string, unknown>
  stop(): Promise<void>
}

export type StartController = (
  program: Program,
  store: Store,
  processEnv: NodeJS.ProcessEnv,
) => Promise<RunningController>
