/** `sluice explain`: where a request would go, or why it would be refused. */
import type { EndpointName } from '../contract/endpoints.ts'
import { present } from '../kit/present.ts'
import type { ExplanationAnswer, KeyAnswer, ListedResource } from './admin/answers.ts'
import { explanationAnswer, keyAnswer, resourcesAnswer } from './admin/answers.ts'
import { findPorts } from './admin/discover.ts'
import { askAll, ofRole, type Survey, survey, tried, troubleOf } from './admin/survey.ts'
import {
  type AdminOptions,
  CommandFailure,
  json,
  type OutputOptions,
  type Terminal,
  type Tool,
} from './command.ts'
import { plain, table } from './table.ts'

/** What `-o json` prints. */
interface Report {
  key: { namespace: string; name: string; preview: string | null }
  model: string
  endpoint: string
  /** The answer of each proxy, with its admin port. */
  proxies: (ExplanationAnswer & { admin: string })[]
  unreachable: { admin: string; reason: string }[]
  /** Conditions of the resources involved, as the controller reports them. */
  notes: string[]
}

interface ExplainOptions extends OutputOptions, AdminOptions {
  key: string
  model: string
  namespace: string
  endpoint: EndpointName
  inputTokens?: number
  maxTokens?: number
}

export const explain: Tool<ExplainOptions> = async (options, terminal) => {
  const { key: name, model, namespace, endpoint, inputTokens, maxTokens: maxOutputTokens } = options
  const { ports, close } = await findPorts(options, terminal)
  try {
    const found = await survey(ports)
    const key = await keyOf(found, namespace, name)
    const [keyHash] = key.hashes
    if (keyHash === undefined) {
      const [why] = notesOf(await resourcesOf(found), { namespace, key: name, channels: false })
      throw new CommandFailure(
        `the ApiKey ${namespace}/${name} has no value in force${why === undefined ? '' : `; ${why}`}`,
      )
    }
    const query = {
      ...{ keyHash, model, endpoint },
      ...present({ inputTokens: inputTokens?.toString(), maxOutputTokens: maxOutputTokens?.toString() }),
    }
    const report: Report = {
      key: { namespace, name, preview: key.preview ?? null },
      ...{ model, endpoint },
      ...(await askProxies(found, query)),
      notes: [],
    }
    const route = report.proxies.find((proxy) => proxy.route !== undefined)?.route
    const channels = report.proxies.some(({ refusal }) => refusal?.code === 'upstream_error')
    report.notes = notesOf(await resourcesOf(found), {
      ...{ namespace, key: name, channels },
      ...present({ route }),
    })
    if (options.output === 'json') terminal.print(json(report))
    else show(report, terminal)
    const fine =
      report.unreachable.length === 0 && report.proxies.every(({ refusal }) => refusal === undefined)
    return fine ? 0 : 1
  } finally {
    await close()
  }
}

/** The key, from the first controller that answers. */
async function keyOf(found: Survey, namespace: string, name: string): Promise<KeyAnswer> {
  const reasons = found.unreached.map(troubleOf)
  for (const port of ofRole(found, 'controller')) {
    const answer = await tried(port, '/keys', keyAnswer, { namespace, name })
    if ('value' in answer) return answer.value
    if (answer.failure.status === 404) throw new CommandFailure(answer.failure.message)
    reasons.push(`${port.name} ${answer.failure.message}`)
  }
  throw new CommandFailure(
    reasons.length === 0
      ? 'none of the admin ports belongs to a controller, which knows the keys by name'
      : reasons.join('; '),
  )
}

async function askProxies(
  found: Survey,
  query: Readonly<Record<string, string>>,
): Promise<Pick<Report, 'proxies' | 'unreachable'>> {
  const ports = ofRole(found, 'proxy')
  if (ports.length === 0 && found.unreached.length === 0)
    throw new CommandFailure('none of the admin ports belongs to a proxy')
  const { answered, unreached } = await askAll(ports, '/explain', explanationAnswer, query)
  return {
    proxies: answered.map(({ port, value }) => ({ admin: port.name, ...value })),
    unreachable: [...found.unreached, ...unreached].map(({ name, reason }) => ({ admin: name, reason })),
  }
}

/** The status of all resources; empty if no controller answers. */
async function resourcesOf(found: Survey): Promise<ListedResource[]> {
  for (const port of ofRole(found, 'controller')) {
    const answer = await tried(port, '/resources', resourcesAnswer)
    if ('value' in answer) return answer.value
  }
  return []
}

/**
 * Conditions that may prevent the request: those of the key, of the route (of all routes if none was found) and, if the
 * request would reach no upstream, of the Channels; also which Channels are disabled.
 */
function notesOf(
  resources: readonly ListedResource[],
  { namespace, key, route, channels }: { namespace: string; key: string; route?: string; channels: boolean },
): string[] {
  const isRelevant = ({ kind, name }: ListedResource) =>
    (kind === 'ApiKey' && name === key) ||
    (kind === 'ModelRoute' && (name === route || (channels && route === undefined))) ||
    (kind === 'Channel' && channels)
  return resources
    .filter((resource) => resource.namespace === namespace && isRelevant(resource))
    .flatMap(({ kind, name, status: { conditions } }) =>
      conditions
        .filter(({ type }) => type !== 'Ready' && type !== 'Programmed')
        .filter(({ status, reason }) => status === 'False' || reason === 'Disabled')
        .map(({ message }) => `${kind}/${name}: ${message}`),
    )
}

function show({ key, model, endpoint, proxies, unreachable, notes }: Report, terminal: Terminal): void {
  const preview = key.preview === null ? '' : ` (${key.preview})`
  terminal.print(plain(`ApiKey ${key.namespace}/${key.name}${preview}, model ${model}, endpoint ${endpoint}`))
  for (const proxy of proxies) terminal.print(`\n${blockOf(proxy, terminal.width)}`)
  if (notes.length > 0)
    terminal.print(`\nFrom the controller:\n${notes.map((note) => `  ${plain(note)}`).join('\n')}`)
  for (const { admin, reason } of unreachable) terminal.warn(plain(`${admin} ${reason}`))
}

function blockOf(
  { admin, refusal, route, account, candidates, hold, funds, notes }: Report['proxies'][number],
  width: number | undefined,
): string {
  const verdict =
    refusal === undefined
      ? 'would be served'
      : `would be refused: ${refusal.status} ${refusal.code}, ${refusal.reason}`
  const lines = [`${admin}: ${verdict}`]
  if (route !== undefined) lines.push(`  route   ${route}`)
  if (account !== undefined && funds !== undefined) {
    const { available, balance, held, overdraft, enforced } = funds
    const more = Number(overdraft) === 0 ? '' : `, overdraft $${overdraft}`
    lines.push(
      `  funds   $${available} of account ${account}: balance $${balance}, held $${held}${more}${enforced ? '' : ', not enforced'}`,
    )
  }
  if (hold !== undefined)
    lines.push(
      `  hold    $${hold.amount}, assuming ${hold.inputTokens} prompt tokens and at most ${hold.outputTokens} output tokens`,
    )
  for (const note of notes) lines.push(`  note    ${note}`)
  if (candidates.length > 0) lines.push(...candidateTable(candidates, width).split('\n'))
  for (const { channel, reason } of candidates)
    if (reason !== undefined) lines.push(`  ${channel}: ${reason}`)
  return lines.map(plain).join('\n')
}

function candidateTable(candidates: ExplanationAnswer['candidates'], width: number | undefined): string {
  return table(
    ['', '#', 'channel', 'type', 'upstream model', 'priority', 'weight', 'first', 'lane', 'state'],
    candidates.map(({ channel, type, model, priority, weight, share, lane, ...rest }, index) => [
      ...[' ', index + 1, channel, type, model, priority, weight],
      ...[`${share}%`, lane, stateText(rest)],
    ]),
    width,
  )
}

function stateText({
  state,
  restsForMs = 0,
}: Pick<ExplanationAnswer['candidates'][number], 'state' | 'restsForMs'>): string {
  switch (state) {
    case 'ready':
      return 'ready'
    case 'resting':
      return `resting for ${Math.ceil(restsForMs / 1_000)}s`
    case 'full':
      return 'at capacity'
    case 'not_eligible':
      return 'not eligible'
  }
}
