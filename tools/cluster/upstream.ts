/** The example upstream as a program: `node tools/cluster/upstream.ts <port>`. */
import { startExampleUpstream } from '../../examples/upstream/server.ts'

const port = Number(process.argv[2])
try {
  await startExampleUpstream({ port, host: '127.0.0.1' })
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  console.error(`The example upstream cannot use port ${port}; choose another one with UPSTREAM_PORT.`)
  process.exitCode = 1
}
