/**
 * How soon a change is in force everywhere: from the API server's answer until the last of three proxies answers a request
 * according to it, for each kind of change. Two controllers, a real API server and a real Redis share this machine, so
 * idle cores matter.
 *
 *     node bench/propagation.ts [<changes of each kind>]
 *
 * With SCALE_KEYS it measures twice in one run: with the few keys of the measurement only, and with that many more, which a
 * hundredth as many accounts pay for. Then it prints the ratio of the medians, and how long a change takes right after
 * its leader got SIGTERM.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type Fleet, metric, startFleet } from '../test/harness/fleet.ts'
import { ask, askAll, digestOf, startReportingUpstream } from '../test/harness/fleet-traffic.ts'
import { startControlPlane } from '../tools/cluster/control-plane.ts'
import { applyCrds } from '../tools/cluster/crds.ts'

const CHANGES = Number(process.argv[2] ?? 60)
const SCALE_KEYS = Number(process.env.SCALE_KEYS ?? 0)
const ACCOUNTS_PER_KEY = 1 / 100
const CREATE_AT_ONCE = 32
/** To create the keys and write their statuses, 200 a second. */
const FILL_MS = 120_000 + SCALE_KEYS * 10
const QUIET_LOOKS = 6
const HAND_OVERS = 5
/** How long a started controller may take to know everything. */
const PAUSE_AFTER_START_MS = 5_000
const GIVE_UP_MS = 10_000
/** Pause between two requests to a proxy that does not serve the change yet. */
const POLL_MS = 3
/** Pause between two changes: long enough to write the statuses of the previous one. */
const PAUSE_MS = 150

interface Kind {
  name: string
  /** Creates the resources that the change needs. */
  before?: (n: number) => Promise<void>
  change: (n: number) => Promise<void>
  /** The request, and the answer that shows the change. */
  key: (n: number) => string
  model: (n: number) => string
  said: (n: number) => string
}

async function measure(fleet: Fleet, kind: Kind, n: number): Promise<number> {
  await kind.before?.(n)
  await delay(PAUSE_MS)
  await kind.change(n)
  const answered = performance.now()
  const seen = fleet.bases.map(async (base) => {
    for (;;) {
      const { summary, endedAt } = await ask(base, kind.key(n), kind.model(n))
      if (summary === kind.said(n)) return endedAt - answered
      if (endedAt - answered > GIVE_UP_MS) throw new Error(`${kind.name}: a proxy still answers ${summary}`)
      await delay(POLL_MS)
    }
  })
  return Math.max(...(await Promise.all(seen)))
}

/** Waits until all proxies give this answer. */
async function settled(fleet: Fleet, key: string, model: string, said: string): Promise<void> {
  const deadline = performance.now() + GIVE_UP_MS
  while ((await askAll(fleet.bases, key, model)).some((each) => each !== said)) {
    if (performance.now() > deadline) throw new Error(`no proxy answers ${said} in time`)
    await delay(POLL_MS)
  }
}

async function kindsOf(fleet: Fleet, baseURLs: readonly string[]): Promise<Kind[]> {
  const { kube } = fleet
  const url = (n: number) => baseURLs[n % 2] ?? ''
  const route = (model: string, target = model) => ({
    model,
    channels: [{ name: 'main', model: target }],
    free: true,
  })
  await kube.secret('upstream', { key: 'credential' })
  await kube.create('Channel', 'main', {
    type: 'chat_completion',
    baseURL: url(0),
    secretRef: { name: 'upstream' },
  })
  for (const name of ['moved', 'rotated']) {
    await kube.secret(name, { key: 'credential' })
    await kube.create('Channel', name, { type: 'chat_completion', baseURL: url(0), secretRef: { name } })
    await kube.create('ModelRoute', name, { model: name, channels: [{ name }], free: true })
  }
  await kube.create('ModelRoute', 'm', route('m'))
  await kube.create('ModelRoute', 'priced', {
    model: 'priced',
    channels: [{ name: 'main' }],
    price: { input: '1', output: '1' },
  })
  await kube.create('ApiKey', 'base', { hashes: [digestOf('sk-base')] })
  await settled(fleet, 'sk-base', 'm', '200 first credential m')

  const key = (what: string) => (n: number) => `sk-${what}-${n}`
  const created = (what: string) => async (n: number) => {
    await kube.create('ApiKey', `${what}-${n}`, { hashes: [digestOf(`sk-${what}-${n}`)] })
    await settled(fleet, `sk-${what}-${n}`, 'm', '200 first credential m')
  }
  const account = (what: string) => async (n: number) => {
    await kube.create('Account', `${what}-${n}`, {})
    await kube.create('ApiKey', `${what}-${n}`, {
      hashes: [digestOf(`sk-${what}-${n}`)],
      accountRef: { name: `${what}-${n}` },
    })
    await settled(fleet, `sk-${what}-${n}`, 'priced', '402 insufficient_balance')
  }
  const base = { key: () => 'sk-base', model: () => 'm' }
  const refused = '401 unauthorized'
  return [
    {
      name: 'ApiKey created',
      change: (n) => kube.create('ApiKey', `made-${n}`, { hashes: [digestOf(`sk-made-${n}`)] }),
      ...base,
      key: key('made'),
      said: () => '200 first credential m',
    },
    {
      name: 'ApiKey disabled',
      before: created('disabled'),
      change: (n) => kube.patch('ApiKey', `disabled-${n}`, { disabled: true }),
      ...base,
      key: key('disabled'),
      said: () => refused,
    },
    {
      name: 'ApiKey models changed',
      before: created('narrowed'),
      change: (n) => kube.patch('ApiKey', `narrowed-${n}`, { models: ['other*'] }),
      ...base,
      key: key('narrowed'),
      said: () => '403 model_not_allowed',
    },
    {
      name: 'ApiKey deleted',
      before: created('deleted'),
      change: (n) => kube.remove('ApiKey', `deleted-${n}`),
      ...base,
      key: key('deleted'),
      said: () => refused,
    },
    {
      name: 'Credit created',
      before: account('paid'),
      change: (n) => kube.create('Credit', `paid-${n}`, { accountRef: { name: `paid-${n}` }, amount: '5' }),
      key: key('paid'),
      model: () => 'priced',
      said: () => '200 first credential priced',
    },
    {
      name: 'Account disabled',
      before: account('closed'),
      change: (n) => kube.patch('Account', `closed-${n}`, { disabled: true }),
      key: key('closed'),
      model: () => 'priced',
      said: () => '403 account_disabled',
    },
    {
      name: 'Channel moved',
      change: (n) => kube.patch('Channel', 'moved', { baseURL: url(n + 1) }),
      ...base,
      model: () => 'moved',
      said: (n) => `200 ${n % 2 === 0 ? 'second' : 'first'} credential moved`,
    },
    {
      name: 'Secret of a Channel rotated',
      change: (n) => kube.secret('rotated', { key: `credential-${n}` }),
      ...base,
      model: () => 'rotated',
      said: (n) => `200 first credential-${n} rotated`,
    },
    {
      name: 'ModelRoute created',
      change: (n) => kube.create('ModelRoute', `made-${n}`, route(`made-${n}`)),
      ...base,
      model: (n) => `made-${n}`,
      said: (n) => `200 first credential made-${n}`,
    },
    {
      name: 'ModelRoute changed',
      change: (n) => kube.patch('ModelRoute', 'm', route('m', `target-${n}`)),
      ...base,
      said: (n) => `200 first credential target-${n}`,
    },
    {
      name: 'ModelRoute deleted',
      change: (n) => kube.remove('ModelRoute', `made-${n}`),
      ...base,
      model: (n) => `made-${n}`,
      said: () => nothing,
    },
  ]
}

/** A model that no route serves. */
let nothing = ''

const at = (sorted: readonly number[], share: number) => sorted[Math.ceil(sorted.length * share) - 1] ?? NaN

async function main(): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-propagation-'))
  const upstreams = [await startReportingUpstream('first'), await startReportingUpstream('second')]
  const controlPlane = await startControlPlane({ dir })
  try {
    await applyCrds(controlPlane.kubectl)
    const fleet = await startFleet({ controlPlane })
    try {
      const kinds = await kindsOf(
        fleet,
        upstreams.map(({ baseURL }) => baseURL),
      )
      nothing = (await askAll(fleet.bases, 'sk-base', 'no-such-model'))[0] ?? ''
      console.log(`${CHANGES} changes of each kind; milliseconds until every proxy serves it\n`)
      const few = await measureAll(fleet, kinds, 0)
      if (SCALE_KEYS > 0) {
        await fill(fleet)
        // The same state as before the first round.
        await fleet.kube.patch('ModelRoute', 'm', { channels: [{ name: 'main', model: 'm' }] })
        await delay(PAUSE_AFTER_START_MS)
        const many = await measureAll(fleet, kinds, CHANGES)
        console.log(`\nmedian beside ${SCALE_KEYS} keys: ${(many / few).toFixed(2)} times the one without`)
        for (let n = 0; n < HAND_OVERS; n++)
          console.log(`hand-over: ${(await handOver(fleet, n)).toFixed(0)} ms`)
      }
    } finally {
      await fleet.stop()
    }
  } finally {
    await controlPlane.stop()
    await Promise.all(upstreams.map((upstream) => upstream.close()))
    rmSync(dir, { recursive: true, force: true })
  }
}

/** The median of all kinds. `from`: number of the first change, because each change creates its own resources. */
async function measureAll(fleet: Fleet, kinds: readonly Kind[], from: number): Promise<number> {
  console.log(`${''.padEnd(30)}median   p99   max`)
  const all: number[] = []
  for (const kind of kinds) {
    const times: number[] = []
    for (let n = from; n < from + CHANGES; n++) times.push(await measure(fleet, kind, n))
    all.push(...times)
    print(kind.name, times)
  }
  print('all', all)
  return at(
    all.toSorted((a, b) => a - b),
    0.5,
  )
}

/** Creates the keys, and waits until their statuses are written. Without this, those writes would distort the result. */
async function fill({ kube, leader }: Fleet): Promise<void> {
  const accounts = Math.ceil(SCALE_KEYS * ACCOUNTS_PER_KEY)
  await forEach(accounts, (n) => kube.create('Account', `scale-${n}`, { enforcement: 'Unlimited' }))
  await forEach(SCALE_KEYS, (n) =>
    kube.create('ApiKey', `scale-${n}`, {
      hashes: [digestOf(`sk-scale-${n}`)],
      accountRef: { name: `scale-${n % accounts}` },
    }),
  )
  const current = await leader()
  const deadline = performance.now() + FILL_MS
  for (let quiet = 0; quiet < QUIET_LOOKS; ) {
    await delay(500)
    const depth = await metric(current, 'workqueue_depth{name="status"}')
    const known = await metric(current, 'sluice_resources{kind="ApiKey"}')
    quiet = depth === 0 && (known ?? 0) >= SCALE_KEYS ? quiet + 1 : 0
    if (performance.now() > deadline) throw new Error('the statuses were not written in time')
  }
}

/** Milliseconds from SIGTERM to the leader until a key created at that moment is served everywhere. */
async function handOver(fleet: Fleet, n: number): Promise<number> {
  const leader = await fleet.leader()
  const began = performance.now()
  leader.kill('SIGTERM')
  await fleet.kube.create('ApiKey', `handed-${n}`, { hashes: [digestOf(`sk-handed-${n}`)] })
  await settled(fleet, `sk-handed-${n}`, 'moved', (await askAll(fleet.bases, 'sk-base', 'moved'))[0] ?? '')
  const ms = performance.now() - began
  await leader.exited
  await leader.restart()
  await delay(PAUSE_AFTER_START_MS)
  return ms
}

async function forEach(count: number, work: (n: number) => Promise<void>): Promise<void> {
  let next = 0
  const worker = async () => {
    while (next < count) await work(next++)
  }
  await Promise.all(Array.from({ length: CREATE_AT_ONCE }, worker))
}

function print(name: string, times: number[]): void {
  const sorted = times.toSorted((a, b) => a - b)
  const columns = [at(sorted, 0.5), at(sorted, 0.99), sorted.at(-1) ?? NaN]
  console.log(name.padEnd(30) + columns.map((ms) => ms.toFixed(0).padStart(6)).join(''))
}

await main()
process.exit()
