/** A copy of the chart as a later version would be: its CRDs have a field more. */
import { cpSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CHART } from '../chart/helm.ts'

const SPEC = '            spec:\n              type: object\n              properties:\n'
const FIELD = '                region: { type: string, maxLength: 63 }\n'

/** Returns its folder, whose parent the caller removes. Channels have a new field `spec.region`. */
export function laterChart(version: string): string {
  const chart = join(mkdtempSync(join(tmpdir(), 'sluice-chart-')), 'sluice')
  cpSync(CHART, chart, { recursive: true })
  edit(join(chart, 'Chart.yaml'), /^version: .*$/m, `version: ${version}`)
  edit(join(chart, 'files', 'crds', 'sluice.dev_channels.yaml'), SPEC, SPEC + FIELD)
  return chart
}

function edit(file: string, what: string | RegExp, by: string): void {
  const before = readFileSync(file, 'utf8')
  const after = before.replace(what, by)
  if (after === before) throw new Error(`${file} has no ${what}`)
  writeFileSync(file, after)
}
