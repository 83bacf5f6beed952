import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { addHeader, beginHead, requestIdIn, writeHead } from './head.ts'

/** The headers that a client gets, without those of Node, and the status. */
async function answered(work: (res: ServerResponse) => void) {
  const server = createServer((_req, res) => {
    work(res)
    res.end()
  }).listen(0)
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const own = ['date', 'connection', 'keep-alive', 'transfer-encoding', 'content-length']
  return { status: answer.status, headers: [...answer.headers].filter(([name]) => !own.includes(name)) }
}

test('a head has the id, what was added, and what completes it', async () => {
  const { status, headers } = await answered((res) => {
    expect(requestIdIn(res)).toBeUndefined()
    beginHead(res, 'req_1')
    expect(requestIdIn(res)).toBe('req_1')
    addHeader(res, 'x-cost', '1')
    addHeader(res, 'x-cost', '2')
    writeHead(res, 201, ['content-type', 'text/plain'])
  })
  expect(status).toBe(201)
  expect(Object.fromEntries(headers)).toEqual({
    'content-type': 'text/plain',
    'request-id': 'req_1',
    'x-cost': '2',
    'x-request-id': 'req_1',
  })
})

test('headers that were set on the answer itself stay', async () => {
  const { headers } = await answered((res) => {
    res.setHeader('allow', 'POST')
    beginHead(res, 'req_1')
    writeHead(res, 405)
  })
  expect(Object.fromEntries(headers)).toEqual({
    allow: 'POST',
    'request-id': 'req_1',
    'x-request-id': 'req_1',
  })
})

test('a head that was not begun has what was added', async () => {
  const { headers } = await answered((res) => {
    addHeader(res, 'x-cost', '1')
    writeHead(res, 200)
  })
  expect(headers).toEqual([['x-cost', '1']])
})
