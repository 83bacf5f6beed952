/** A stopped server with a full connection queue: further connections are neither accepted nor refused. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { onTestFinished } from 'vitest'

const PROGRAM = `
  const server = require('node:net').createServer()
  server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => console.log(server.address().port))
`

/** Resolves with the server's origin. Runs until the test has finished. */
export async function stoppedServer(): Promise<string> {
  const child = spawn(process.execPath, ['-e', PROGRAM], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  const port = Number(line)
  child.kill('SIGSTOP')
  for (;;) {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined)
    onTestFinished(() => void socket.destroy())
    const connected = once(socket, 'connect').then(() => true)
    const full = new Promise<false>((resolve) => setTimeout(resolve, 300, false))
    if (!(await Promise.race([connected, full]))) return `http://127.0.0.1:${port}`
  }
}
