/** What a program that serves requests asks of V8: its collector and its compiler. */
import { performance } from 'node:perf_hooks'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/**
 * Lets V8 weigh the buffers of sockets like the rest of the heap. By default it starts a full collection for each 64 MB of them,
 * although they die young: nine a second under streams at full speed, a fifth of their CPU. Memory rises by up to a third.
 * Takes effect at once.
 */
export function weighSocketBuffers(): void {
  setFlagsFromString('--external-memory-accounted-in-global-limit')
}

/**
 * Lets V8 free what its second compiler has used as soon as the code is there, not when a thread in the background gets to it. A
 * proxy with a thousand open streams takes 30 MB less, at the same CPU (decision 23). Takes effect at once.
 */
export function freeCompilerMemory(): void {
  setFlagsFromString('--no-maglev-destroy-on-background')
}

/** V8's own is 3,000. */
const CALLS_BEFORE_OPTIMIZING = 300

/**
 * Lets V8's last compiler have a function after 300 calls of what its second compiler made. A request calls hundreds of functions,
 * most of them once or a few times: with V8's 3,000 calls, a proxy serves ten thousand requests before most are compiled, and a
 * request costs up to twice the CPU until then (decision 24). Call it when the modules are loaded: what only the start calls need
 * not be compiled.
 */
export function optimizeEarly(): void {
  setFlagsFromString(`--invocation-count-for-turbofan=${CALLS_BEFORE_OPTIMIZING}`)
}

const WARM_TICKS = 10_000

/**
 * Lets V8 compile process.nextTick while all calls of it are alike; takes about 4 ms. Otherwise, in a proxy with Redis, V8 settles on
 * code that asks its runtime for each property of a tick: about 4 % of a request. One tick waits at a time: were many to
 * outlive a collection, V8 would put all ticks to come among its old objects, and keep there what they refer to.
 */
export function warmTicks(): void {
  const tick = (left: number) => {
    if (left > 0) process.nextTick(tick, left - 1)
  }
  tick(WARM_TICKS)
}

/** V8 takes note of reads only after the first few hundred. */
const WARM_READS = 10_000

/**
 * Lets compiled code call methods of strings directly again. A class that extends String, of which ioredis has one, turns
 * String.prototype into a dictionary, and then V8 looks up each method at each call: 7 % of a stream's CPU. Reading a
 * property of a String object, as opposed to a string, makes V8 turn it back. Call it when all modules are loaded.
 */
export function quickenStrings(): void {
  const object: string = Object('')
  for (let n = 0; n < WARM_READS; n++) void object.length
}

/**
 * Loading hundreds of modules grows V8's space for new objects to 64 MB, and V8 keeps it. This collection gives it back at
 * once: an idle proxy takes 116 MB instead of 150. To be called once, before the program listens: everything else waits for 40 to
 * 150 ms, and a request in flight might use up its time for the store.
 */
export function collectStartGarbage(): void {
  collectAll()
}

const LOOK_MS = 30_000
/** Probes, scrapes and timers take a smaller share of the event loop. */
const QUIET_SHARE = 0.05
/** With a trickle of requests, memory is given back after so many quiet looks. */
const TRICKLE_LOOKS = 10
/** Less is not worth a collection. */
const WORTHWHILE_BYTES = 33_554_432

export interface Requests {
  inFlight(): number
  /** Since the start of the program. */
  begun(): number
}

/**
 * Gives the memory of the start, and later that of a load, back once the program was quiet for `lookMs` without a request, or for
 * ten times as long with few, and has none in flight. Goes on until the returned function is called. For programs that run with
 * --no-memory-reducer: V8 would collect after eight seconds without work. A full collection without a request in flight throws
 * compiled code away, and the next second of load takes two to three times the CPU (decision 24).
 */
export function collectWhenQuiet(
  requests: Requests,
  { lookMs = LOOK_MS, collect = collectAll } = {},
): () => void {
  let since = performance.eventLoopUtilization()
  let begun = requests.begun()
  let quietLooks = 0
  // Nothing is kept yet: the first quiet look collects.
  let kept = 0
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, since)
    since = now
    const isUnused = requests.begun() === begun
    begun = requests.begun()
    quietLooks = utilization > QUIET_SHARE || requests.inFlight() > 0 ? 0 : quietLooks + 1
    if (quietLooks < (isUnused ? 1 : TRICKLE_LOOKS)) return
    if (process.memoryUsage.rss() < kept + WORTHWHILE_BYTES) return
    collect()
    quietLooks = 0
    kept = process.memoryUsage.rss()
  }, lookMs)
  timer.unref()
  return () => clearInterval(timer)
}

const NEW_SPACE_LOOK_MS = 500
const MANY_IN_FLIGHT = 256
/** Both halves of V8's space for new objects, of which it fills one. */
const NEW_SPACE_BYTES = 33_554_432
/** V8's own. */
const GROWTH_FACTOR = 2

/**
 * Keeps V8's space for new objects at 32 MB while many requests are in flight. V8 doubles it whenever as much has outlived its
 * collections as it holds. What a thousand open streams need does outlive them, however large the space is: with 64 MB each
 * stream takes 25 kB more, and a collection twice as long (decision 23). A space that is larger already stays so. Goes on until
 * the returned function is called.
 */
export function boundNewSpace(inFlight: () => number, { lookMs = NEW_SPACE_LOOK_MS } = {}): () => void {
  let factor = GROWTH_FACTOR
  const grow = (by: number) => {
    if (by !== factor) setFlagsFromString(`--semi-space-growth-factor=${by}`)
    factor = by
  }
  const timer = setInterval(() => {
    const isEnough = inFlight() > MANY_IN_FLIGHT && newSpaceBytes() >= NEW_SPACE_BYTES
    grow(isEnough ? 1 : GROWTH_FACTOR)
  }, lookMs)
  timer.unref()
  return () => {
    clearInterval(timer)
    grow(GROWTH_FACTOR)
  }
}

function newSpaceBytes(): number {
  return getHeapSpaceStatistics().find((space) => space.space_name === 'new_space')?.space_size ?? 0
}

/** Keeps memory down while the program serves, until the returned function is called. */
export function tendMemory(requests: Requests): () => void {
  const stops = [collectWhenQuiet(requests), boundNewSpace(requests.inFlight)]
  return () => {
    for (const stop of stops) stop()
  }
}

/** The collection that V8 runs when memory has ended. Takes 40 to 150 ms at the start. */
function collectAll(): void {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  setFlagsFromString('--no-expose-gc')
  if (typeof collect === 'function') collect({ type: 'major', flavor: 'last-resort' })
}
