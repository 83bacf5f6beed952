/** A real HTTP proxy on loopback that tunnels and forwards. It sends every host to 127.0.0.1. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, request } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, connect, type Socket } from 'node:net'
import type { Pair } from './pki.ts'

export interface TestProxy {
  /** http://127.0.0.1:PORT, or https:// */
  url: string
  /** The requests that it received: "CONNECT host:port" or "POST http://host:port/path". */
  requests: string[]
  /** Headers of each request. */
  headers: IncomingMessage['headers'][]
  /** Open tunnels. */
  tunnels: Set<Socket>
  /** Answers every request with this status; 0: never answers; undefined: works again. */
  refuseWith(status: number | undefined): void
  close(): Promise<void>
}

/** With `tls`, clients connect to the proxy over HTTPS. */
export async function startProxy(tls?: Pair): Promise<TestProxy> {
  const requests: string[] = []
  const headers: IncomingMessage['headers'][] = []
  const tunnels = new Set<Socket>()
  let refusal: number | undefined
  const server = tls === undefined ? createServer() : createTlsServer(tls)
  const take = (req: IncomingMessage) => {
    requests.push(`${req.method} ${req.url}`)
    headers.push(req.headers)
    return refusal
  }
  server.on('connect', (req, socket: Socket, head) => {
    socket.on('error', () => undefined)
    const status = take(req)
    tunnels.add(socket)
    socket.on('close', () => tunnels.delete(socket))
    // A silent proxy, too, must notice when the client leaves.
    socket.on('end', () => socket.destroy()).resume()
    if (status === 0) return
    if (status !== undefined) {
      socket.end(`HTTP/1.1 ${status} No\r\ncontent-length: 13\r\n\r\nproxy-secrets`)
      return
    }
    const { port } = new URL(`http://${req.url}`)
    const upstream = connect(Number(port || 80), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      upstream.write(head)
      upstream.pipe(socket).pipe(upstream)
    })
    upstream.on('error', () => socket.destroy())
    upstream.on('close', () => socket.destroy())
    socket.on('close', () => upstream.destroy())
  })
  server.on('request', (req, res) => {
    const status = take(req)
    if (status === 0) return
    if (status !== undefined) {
      res.writeHead(status).end('proxy-secrets')
      return
    }
    const { port, pathname, search } = new URL(req.url ?? '')
    const { 'proxy-authorization': _own, ...passed } = req.headers
    const onward = request(
      { host: '127.0.0.1', port, method: req.method, path: pathname + search, headers: passed },
      (answer) => {
        res.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(res)
      },
    )
    onward.on('error', () => res.destroy())
    res.on('close', () => onward.destroy())
    req.pipe(onward)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    headers,
    tunnels,
    refuseWith: (status) => {
      refusal = status
    },
    async close() {
      for (const socket of tunnels) socket.destroy()
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
