/**
 * The end of a turn of the event loop. libuv accepts one connection a turn, and a turn that runs the requests of hundreds takes
 * 100 ms: of 500 clients that connect at once, the last would wait for seconds while the first are served again and again. So
 * work waits while turns bring connections (decision 18).
 */

/**
 * Work waits for as many turns as pieces of it ran last, and may always wait for so many. With 256 turns, a flood of
 * connections took four of five requests a second from others; so it takes three of ten (decision 18).
 */
const LEAST_TURNS = 4

let due: (() => number)[] = []
/** Since work last came to the end of a turn. */
let accepted = false
/** Turns for which `due` has waited, and how many there may be. */
let waited = 0
let most = LEAST_TURNS

/** To be called for each connection that the program accepts where it serves requests. */
export function connectionAccepted(): void {
  accepted = true
}

/**
 * Runs `work`, which must not throw, at the end of this turn, or of the first one that brings no connection. It returns
 * how many pieces it has done.
 */
export function atEndOfTurn(work: () => number): void {
  if (due.push(work) === 1) setImmediate(end)
}

function end(): void {
  const waits = accepted && waited < most
  accepted = false
  if (waits) {
    waited++
    setImmediate(end)
    return
  }
  waited = 0
  const works = due
  due = []
  let done = 0
  for (const work of works) done += work()
  most = Math.max(LEAST_TURNS, done)
}
