/** The module of a thread that works on large bodies. */
import { parentPort } from 'node:worker_threads'
import { type Job, type Reply, reply } from './job.ts'

parentPort?.on('message', (job: Job) => {
  const answer = reply(job)
  parentPort?.postMessage(answer, moved(answer))
})

/** A body is moved, because a copy of a large one takes milliseconds of the thread that gets it. Small ones share a pool. */
function moved(answer: Reply): ArrayBuffer[] {
  if (!('converted' in answer)) return []
  const { buffer, byteLength } = answer.converted.body
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : []
}
