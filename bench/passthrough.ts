/**
 * The baseline for the gateway: the same HTTP server and client, with nothing in between. No key, no route, no limit, no
 * bill. Takes the upstream's port as argument and prints its own.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type Dispatcher, Pool } from 'undici'

const pool = new Pool(`http://127.0.0.1:${process.argv[2]}`, {
  connections: 16_384,
  pipelining: 1,
  bodyTimeout: 0,
})

function relay(response: ServerResponse): Dispatcher.DispatchHandler {
  return {
    onRequestStart() {},
    onResponseStart(_controller, status, headers) {
      const { connection: _, 'keep-alive': __, 'transfer-encoding': ___, ...kept } = headers
      response.writeHead(status, kept)
    },
    onResponseData(controller, chunk) {
      if (response.write(chunk)) return
      controller.pause()
      response.once('drain', () => controller.resume())
    },
    onResponseEnd() {
      response.end()
    },
    onResponseError(_controller, error) {
      response.destroy(error)
    },
  }
}

function forward(request: IncomingMessage, response: ServerResponse, body: Buffer): void {
  const headers = { 'content-type': 'application/json' }
  pool.dispatch({ method: 'POST', path: request.url ?? '/', headers, body }, relay(response))
}

const server = createServer((request, response) => {
  const pieces: Buffer[] = []
  request.on('data', (piece) => pieces.push(piece))
  request.on('end', () =>
    forward(request, response, pieces.length === 1 ? (pieces[0] ?? Buffer.alloc(0)) : Buffer.concat(pieces)),
  )
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (typeof address === 'object' && address !== null) console.log(address.port)
})
