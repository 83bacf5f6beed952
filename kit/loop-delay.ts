/** How late the event loop runs its timers, measured once for all who ask. */
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks'

/** Each look wakes an idle process. Two monitors of Node, which look every 10 and 20 ms, took 1 to 2 % of a core. */
const LOOK_MS = 50
const NS_PER_MS = 1_000_000

const histograms = new Set<RecordableHistogram>()
let timer: NodeJS.Timeout | undefined
/** performance.now() of the next look, if it is not late. */
let due = 0

export interface LoopDelay {
  /** Delays in nanoseconds, for its owner to read and reset. */
  readonly delays: RecordableHistogram
  stop(): void
}

/** Watches the delay from now on. It does not keep the process alive. */
export function watchLoopDelay(): LoopDelay {
  const delays = createHistogram()
  histograms.add(delays)
  if (timer === undefined) {
    due = performance.now() + LOOK_MS
    timer = setInterval(look, LOOK_MS).unref()
  }
  return {
    delays,
    stop() {
      histograms.delete(delays)
      if (histograms.size > 0) return
      clearInterval(timer)
      timer = undefined
    },
  }
}

function look(): void {
  const now = performance.now()
  const late = Math.round((now - due) * NS_PER_MS)
  due = now + LOOK_MS
  for (const delays of histograms) delays.record(Math.max(1, late))
}
