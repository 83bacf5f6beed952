/** `sluice credits add`: money for an account, once per name. */
import { isDeepStrictEqual } from 'node:util'
import { KINDS } from '../contract/api/index.ts'
import { CommandFailure, json, type OutputOptions, type Tool, UsageError } from './command.ts'
import { openPlace } from './resources/open.ts'
import type { PlaceOptions } from './resources/place.ts'

interface AddOptions extends PlaceOptions, OutputOptions {
  /** The account and the dollars. */
  args: string[]
  name?: string
  note?: string
  dryRun?: boolean
}

/** The same name with the same credit again adds nothing, so that a script may repeat it. */
export const addCredit: Tool<AddOptions> = async (options, terminal) => {
  const {
    args: [account = '', amount = ''],
    note,
    output,
    dryRun = false,
  } = options
  const spec = { accountRef: { name: account }, amount, ...(note !== undefined && { note }) }
  const { error } = KINDS.Credit.spec.safeParse(spec)
  if (error !== undefined)
    throw new UsageError(error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; '))
  const name = options.name ?? `${account}-${new Date().toISOString().replace(/\D/g, '').slice(0, 17)}`
  const place = await openPlace(options, terminal)
  try {
    const known = await place.get('Credit', name)
    if (known !== undefined && !isDeepStrictEqual(known.spec, spec))
      throw new CommandFailure(`Credit ${name}: exists already, with another account, amount or note`)
    if (known === undefined && !dryRun) await place.create({ kind: 'Credit', name, spec })
    const did = known !== undefined ? 'exists already' : dryRun ? 'would be created' : 'created'
    terminal.print(output === 'json' ? json({ name, account, amount, note: did }) : `Credit ${name}: ${did}`)
    return 0
  } finally {
    await place.close()
  }
}
