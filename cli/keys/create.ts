/** `sluice keys create`: ApiKeys with new keys, which are printed once. */
import { isDeepStrictEqual } from 'node:util'
import { KINDS } from '../../contract/api/index.ts'
import { mintKey } from '../../contract/key-format.ts'
import { present } from '../../kit/present.ts'
import { CommandFailure, json, type OutputOptions, type Terminal, type Tool, UsageError } from '../command.ts'
import { openPlace } from '../resources/open.ts'
import type { Place, PlaceOptions } from '../resources/place.ts'
import { table } from '../table.ts'

interface CreateOptions extends PlaceOptions, OutputOptions {
  /** Name of the ApiKey. */
  args: string[]
  account?: string
  models?: string[]
  expires?: string
  limit?: Record<string, number>
  budget?: { amount: string; period?: string }
  count?: number
  prefix?: string
  dryRun?: boolean
}

/** Keys that are made at once. */
const AT_ONCE = 8

interface Made {
  name: string
  /** Absent for one that exists already, and with --dry-run. */
  key?: string
  note: 'created' | 'exists already' | 'would be created'
}

/** What exists already with the same spec is left alone, so that a call that was interrupted can be made again. */
export const create: Tool<CreateOptions> = async (options, terminal) => {
  const names = namesOf(options)
  const spec = specOf(options)
  const place = await openPlace(options, terminal)
  const all: Made[] = []
  let failure: unknown
  try {
    await each(names, async (name) => {
      if (failure === undefined)
        all.push(await createOne(place, name, { spec, dryRun: options.dryRun === true }))
    }).catch((error: unknown) => {
      failure = error
    })
  } finally {
    await place.close()
  }
  // Keys that were made are printed whatever came after: no other command can print them.
  show(
    all.sort((a, b) => (a.name < b.name ? -1 : 1)),
    options,
    terminal,
  )
  if (failure !== undefined) throw failure
  return 0
}

function namesOf({ args: [name], count, prefix }: CreateOptions): string[] {
  if ((name === undefined) === (prefix === undefined))
    throw new UsageError('give a name, or --count and --prefix')
  if (name !== undefined) return [name]
  if (count === undefined) throw new UsageError('--prefix needs --count')
  const digits = String(count).length
  return Array.from({ length: count }, (_, i) => `${prefix}${String(i + 1).padStart(digits, '0')}`)
}

/** Throws UsageError for what the schema refuses. */
function specOf({ account, models, expires, limit, budget }: CreateOptions): Record<string, unknown> {
  const spec = present({
    accountRef: account === undefined ? undefined : { name: account },
    models,
    expiresAt: expires,
    limits: limit,
    budget,
  })
  const { error } = KINDS.ApiKey.spec.safeParse(spec)
  if (error !== undefined)
    throw new UsageError(error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; '))
  return spec
}

async function createOne(
  place: Place,
  name: string,
  { spec, dryRun }: { spec: Record<string, unknown>; dryRun: boolean },
): Promise<Made> {
  const secret = `${name}-key`
  const wanted = { ...spec, secretRef: { name: secret } }
  const known = await place.get('ApiKey', name)
  if (known !== undefined && !isDeepStrictEqual(withDefaults(known.spec), withDefaults(wanted)))
    throw new CommandFailure(`ApiKey ${name}: exists already, with another spec`)
  const isMade = known !== undefined && (await place.get('Secret', secret)) !== undefined
  if (isMade) return { name, note: 'exists already' }
  if (dryRun) return { name, note: 'would be created' }
  const key = mintKey()
  // The ApiKey first: it owns the Secret, and until that exists the key is pending.
  const owner = known ?? (await place.create({ kind: 'ApiKey', name, spec: wanted }))
  await place.create({ kind: 'Secret', name: secret, spec: { key }, owner })
  return { name, key, note: 'created' }
}

/** An API server fills in defaults. */
const withDefaults = (spec: object) => KINDS.ApiKey.spec.safeParse(spec).data ?? spec

function show(all: readonly Made[], { output }: OutputOptions, terminal: Terminal): void {
  if (output === 'json') terminal.print(json(all))
  else if (all.length > 0)
    terminal.print(
      table(
        ['name', 'key', 'note'],
        all.map(({ name, key, note }) => [name, key, note]),
        undefined,
      ),
    )
}

async function each(names: readonly string[], work: (name: string) => Promise<void>): Promise<void> {
  const queue = names.values()
  const lane = async () => {
    for (const name of queue) await work(name)
  }
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, names.length) }, lane))
}
