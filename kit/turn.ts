/**
 * The end of a turn of the event loop. libuv accepts one connection a turn, and a turn that runs the requests of hundreds takes
 * 100 ms: of 500 clients that connect at once, the last would wait for seconds while the first are served again and again. So
 * work waits while turns bring connections (decision 18).
 */

/** For so many turns work waits at most, so that no client can stop it by connecting without end. They take some 20 ms. */
const MOST_TURNS = 256

let due: (() => void)[] = []
/** In the present turn. */
let accepted = false
/** Turns for which `due` has waited. */
let waited = 0

/** To be called for each connection that the program accepts where it serves requests. */
export function connectionAccepted(): void {
  accepted = true
}

/** Runs `work`, which must not throw, at the end of this turn, or of the first one that brings no connection. */
export function atEndOfTurn(work: () => void): void {
  if (due.push(work) === 1) setImmediate(end)
}

function end(): void {
  const waits = accepted && waited < MOST_TURNS
  accepted = false
  if (waits) {
    waited++
    setImmediate(end)
    return
  }
  waited = 0
  const works = due
  due = []
  for (const work of works) work()
}
