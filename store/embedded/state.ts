import type { ResponseBinding, StateStore } from '../contract.ts'
import { responseKey } from '../keys.ts'
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
    async putResponse(owner, id, binding, ttlMs) {
      responses.set(responseKey(owner, id), frozenCopy(binding), ttlMs)
    },
    async response(owner, id) {
      return responses.get(responseKey(owner, id))
    },
    async keepResponse(owner, id, ttlMs) {
      responses.prolong(responseKey(owner, id), ttlMs)
    },
    async removeResponse(owner, id) {
      responses.delete(responseKey(owner, id))
    },
    ...createConversations(now),
    appendLog(line) {
      log.push(line)
    },
    async recentLog(count) {
      return log.newest(count)
    },
  }
}
