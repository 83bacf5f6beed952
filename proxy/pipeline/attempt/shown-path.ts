import type { ChannelRecord } from '../../../contract/table/records.ts'
import { mask } from '../../telemetry/request-log.ts'
import { pathOf } from '../../upstream/request.ts'

/** The last one of each channel: most have one path, and masking takes several patterns. */
const last = new WeakMap<ChannelRecord, { path: string; shown: string }>()

/** The path of a request to the channel as the log shows it: without its query, credentials masked. */
export function shownPath(channel: ChannelRecord, path: string): string {
  const known = last.get(channel)
  if (known?.path === path) return known.shown
  const shown = mask(pathOf(channel, path), [])
  last.set(channel, { path, shown })
  return shown
}
