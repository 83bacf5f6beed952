/** The example upstream as a program: `node examples/upstream/main.ts <port> [<host>]`, on loopback by default. */
import { startExampleUpstream } from './server.ts'

const [port, host = '127.0.0.1'] = process.argv.slice(2)
try {
  await startExampleUpstream({ port: Number(port), host })
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  console.error(`The example upstream cannot use port ${port}; choose another one with UPSTREAM_PORT.`)
  process.exitCode = 1
}
