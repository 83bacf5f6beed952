/** `sluice keys rotate` and `revoke`. */

import type { ApiKeySpec } from '../../contract/api/apikey.ts'
import { KINDS } from '../../contract/api/index.ts'
import { mintKey } from '../../contract/key-format.ts'
import { CommandFailure, json, type OutputOptions, type Tool } from '../command.ts'
import { openPlace } from '../resources/open.ts'
import type { Place, PlaceOptions, Stored } from '../resources/place.ts'

interface ChangeOptions extends PlaceOptions, OutputOptions {
  /** Name of the ApiKey. */
  args: string[]
  dryRun?: boolean
}

interface RotateOptions extends ChangeOptions {
  /** How long the old key is good, in ms. */
  overlap: number
}

/** A new key beside the old one, which ends after the overlap. Refused while an overlap runs. */
export const rotate: Tool<RotateOptions> = async (options, terminal) => {
  const {
    args: [name = ''],
    overlap,
    output,
    dryRun = false,
  } = options
  return within(options, terminal, async (place) => {
    const found = await existing(place, name)
    const now = Date.now()
    const secret = `${name}-key-${new Date(now).toISOString().replace(/\D/g, '').slice(0, 14)}`
    const until = new Date(now + overlap).toISOString()
    const old = refsOf(found, name, now).map((ref) => ({ ...ref, notAfter: until }))
    const key = mintKey()
    if (!dryRun) {
      // The Secret first, so that the new key is in force as soon as the ApiKey names it.
      await place.create({ kind: 'Secret', name: secret, spec: { key }, owner: found })
      await place.patch('ApiKey', name, {
        secretRef: null,
        secretRefs: [{ name: secret, key: 'key' }, ...old],
      })
    }
    const shown = { name, ...(!dryRun && { key }), oldUntil: until }
    terminal.print(
      output === 'json'
        ? json(shown)
        : dryRun
          ? `the old key would be good until ${until}`
          : `${key}\nthe old key is good until ${until}`,
    )
    return 0
  })
}

/** The key is refused from now on; the resource stays, for usage and audit. */
export const revoke: Tool<ChangeOptions> = async (options, terminal) => {
  const {
    args: [name = ''],
    output,
    dryRun = false,
  } = options
  return within(options, terminal, async (place) => {
    const { spec } = await existing(place, name)
    const isRevoked = spec.disabled === true
    if (!isRevoked && !dryRun) await place.patch('ApiKey', name, { disabled: true })
    const note = isRevoked ? 'was revoked already' : dryRun ? 'would be revoked' : 'is revoked'
    terminal.print(output === 'json' ? json({ name, note }) : `${name} ${note}`)
    return 0
  })
}

async function within(
  options: PlaceOptions,
  terminal: Parameters<Tool<PlaceOptions>>[1],
  work: (place: Place) => Promise<number>,
): Promise<number> {
  const place = await openPlace(options, terminal)
  try {
    return await work(place)
  } finally {
    await place.close()
  }
}

async function existing(place: Place, name: string): Promise<Stored> {
  const found = await place.get('ApiKey', name)
  if (found === undefined)
    throw new CommandFailure(`there is no ApiKey ${name} in the namespace ${place.namespace}`)
  return found
}

/** Where the keys in force are. Those that have ended are left out. */
function refsOf({ spec, status }: Stored, name: string, now: number): { name: string; key: string }[] {
  const { data } = KINDS.ApiKey.spec.safeParse(spec)
  if (data === undefined) throw new CommandFailure(`ApiKey ${name}: its spec cannot be read`)
  const { hashes, secretRef, secretRefs }: ApiKeySpec = data
  if (hashes !== undefined)
    throw new CommandFailure(
      `ApiKey ${name}: has hashes of keys that it does not know; add the hash of the new key to spec.hashes`,
    )
  const running = secretRefs?.find(({ notAfter }) => notAfter !== undefined && Date.parse(notAfter) > now)
  if (running !== undefined)
    throw new CommandFailure(
      `ApiKey ${name}: an old key is good until ${running.notAfter}; rotate again after that`,
    )
  const made = typeof status?.secretName === 'string' ? { name: status.secretName, key: 'key' } : undefined
  const refs = secretRefs ?? [secretRef ?? made].filter((ref) => ref !== undefined)
  if (refs.length === 0) throw new CommandFailure(`ApiKey ${name}: has no key yet`)
  return refs
    .filter((ref) => !('notAfter' in ref) || ref.notAfter === undefined)
    .map(({ name, key }) => ({ name, key }))
}
