/** A worker of `sluice proxy --workers`: a proxy of its own, but for the two ports, which belong to the first process. */
import { AdminError } from '../../admin/server.ts'
import { openProgram, portsOf, startFailure, stopOnSignals } from '../process.ts'
import { type ServingProxy, serveProxy } from '../serve-proxy.ts'
import { assignment, METRICS_PAGE, order, type Report } from './protocol.ts'

export async function work({ WORKER_ASSIGNMENT, ...processEnv }: NodeJS.ProcessEnv): Promise<void> {
  const { worker, instance, adminPort } = assignment.parse(JSON.parse(WORKER_ASSIGNMENT ?? ''))
  const opened = openProgram(processEnv)
  if (opened === undefined) return
  const { out } = opened
  const log = opened.log.child({ worker })
  const program = { ...opened, instance, log }
  const starting = serveProxy(program, adminPort)
  // A terminal and a service manager send their signals to every process, beside the order of the first one.
  const stop = stopOnSignals(
    async (graceMs) => (await starting).stop(graceMs),
    program.env.SLUICE_DRAIN_TIMEOUT,
    out,
  )
  process.on('message', (message) => {
    const given = order.parse(message)
    if (given.type === 'stop') stop(given.graceMs)
    else void answer(starting, given).then(send)
  })
  try {
    const { running } = await starting
    send({ type: 'listening', port: running.port })
    log.info({ instance, port: running.port }, 'listening')
  } catch (error) {
    out.close()
    send({ type: 'failed', ...startFailure(error, portsOf(program)) }, () => process.exit(1))
  }
}

/** Never rejects. */
async function answer(
  starting: Promise<ServingProxy>,
  { id, path, query }: { id: number; path: string; query: string },
): Promise<Report> {
  try {
    const { running } = await starting
    if (path === METRICS_PAGE)
      return { type: 'answer', id, value: await running.metrics.registry.getMetricsAsJSON() }
    const page = Object.hasOwn(running.pages, path) ? running.pages[path] : undefined
    if (page === undefined) throw new AdminError(404, 'not found')
    return { type: 'answer', id, value: await page(new URLSearchParams(query)) }
  } catch (error) {
    if (error instanceof AdminError)
      return { type: 'refusal', id, status: error.status, message: error.message }
    return { type: 'refusal', id, status: 500, message: 'internal error' }
  }
}

function send(message: Report, sent: () => void = () => undefined): void {
  process.send?.(message, undefined, undefined, sent)
}
