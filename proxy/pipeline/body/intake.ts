/** Ports for reading a body. */
import type { Limits } from '../limits.ts'
import type { BodyMemory } from './memory.ts'
import type { BodyThreads } from './threads.ts'
import type { BodyTurns } from './turns.ts'

export interface BodyIntake {
  limits: Limits
  /** Bounds the memory of all bodies. */
  memory: BodyMemory
  /** Bounds how many large bodies of one client are parsed at a time. */
  turns: BodyTurns
  /** Parse large bodies. */
  threads: BodyThreads
}
