/** Opens the place that the options of a command name. */
import type { Terminal } from '../command.ts'
import type { Place, PlaceOptions } from './place.ts'

/** Throws CommandFailure if no cluster answers. */
export async function openPlace(
  { folder, namespace, secretLabels }: PlaceOptions,
  { env }: Terminal,
): Promise<Place> {
  if (folder !== undefined) {
    const { folderPlace } = await import('./folder.ts')
    return folderPlace(folder, namespace ?? env.SLUICE_NAMESPACE ?? 'default')
  }
  const { clusterPlace } = await import('./cluster.ts')
  return clusterPlace(namespace, secretLabels)
}
