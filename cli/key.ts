/** `sluice key`: prints the value of an ApiKey in a folder, for a shell: KEY="$(sluice key NAME FOLDER)". */
import { CommandFailure, type Tool } from './command.ts'
import { usableKeys } from './folder-keys.ts'
import { check, readPath } from './validate.ts'

interface KeyOptions {
  namespace: string
  /** The name of the ApiKey and the folder. */
  args: string[]
}

export const key: Tool<KeyOptions> = async ({ namespace, args: [name = '', folder = ''] }, terminal) => {
  const { snapshot } = check(await readPath(folder), namespace, terminal.env)
  const found = usableKeys(snapshot, Date.now()).find(
    (one) => one.name === name && one.namespace === namespace,
  )
  if (found === undefined)
    throw new CommandFailure(
      `${folder} has no ApiKey ${name} in the namespace ${namespace} that is in force and has a value`,
    )
  terminal.print(found.value)
  return 0
}
