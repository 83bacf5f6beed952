/** Reads an answer while it arrives. */
import type { IncomingMessage } from 'node:http'
import { type CallOptions, open } from './http.ts'

export interface FollowedAnswer {
  status: number
  headers: IncomingMessage['headers']
  /** The body received so far. */
  text(): string
  /** True once the answer is complete, false if the connection breaks first. */
  ended: Promise<boolean>
  /** Closes the connection. */
  leave(): void
}

export async function follow(url: string, options: CallOptions = {}): Promise<FollowedAnswer> {
  const res = await open(url, options)
  let text = ''
  res.setEncoding('utf8')
  res.on('data', (chunk: string) => {
    text += chunk
  })
  res.on('error', () => undefined)
  return {
    status: res.statusCode ?? 0,
    headers: res.headers,
    text: () => text,
    ended: new Promise((resolve) => res.on('close', () => resolve(res.complete))),
    leave: () => res.destroy(),
  }
}
