import type { ResponseBinding, StateStore } from '../contract.ts'
import { Tail } from '../tail.ts'
import { createConversations } from './conversations.ts'
import { expiring } from './expiring.ts'
import { frozenCopy } from './frozen.ts'

const MAX_RESPONSES = 100_000

/** `logCapacity`: lines that the request log keeps. */
export function createStateStore(now: () => number, logCapacity: number): StateStore {
  const responses = expiring<ResponseBinding>(MAX_RESPONSES, now)
  const log = new Tail<string>(logCapacity)
  return {
    async putResponse(id, binding, ttlMs) {
      responses.set(id, frozenCopy(binding), ttlMs)
    },
    async response(id) {
      return responses.get(id)
    },
    async removeResponse(id) {
      responses.delete(id)
    },
    ...createConversations(now),
    async appendLog(line) {
      log.push(line)
    },
    async recentLog(count) {
      return log.newest(count)
    },
  }
}
