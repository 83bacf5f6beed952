import type { AffinityStore } from '../contract.ts'
import { expiring } from './expiring.ts'

const MAX_SESSIONS = 100_000

export function createAffinityStore(now: () => number): AffinityStore {
  const sessions = expiring<string>(MAX_SESSIONS, now)
  return {
    async get(session) {
      return sessions.get(session)
    },
    async set(session, channel, ttlMs) {
      sessions.set(session, channel, ttlMs)
    },
  }
}
