/** The controller that watches a cluster. */
import { sinkOf } from '../../controller/books/journal-sink.ts'
import { ClusterController } from '../../controller/cluster.ts'
import { connectKube } from '../../controller/kube/client.ts'
import type { StartController } from './place.ts'

export const startInCluster: StartController = async ({ env, instance, log, out }, store, processEnv) => {
  const kube = connectKube({ log, onRequest: (verb, status) => running.metrics.requested(verb, status) })
  const namespace = processEnv.SLUICE_NAMESPACE || kube.namespace || env.SLUICE_NAMESPACE
  const journal = sinkOf(env.SLUICE_JOURNAL, (text) => out.write(text))
  const running = new ClusterController({ store, kube, env, namespace, instance, log, journal })
  running.start()
  return {
    pages: running.pages,
    ended: running.ended,
    metrics: running.metrics,
    notReady: () => running.notReady(),
    about: { namespace, lease: env.SLUICE_LEASE_NAME },
    async stop() {
      await running.stop()
      await kube.close()
    },
  }
}
