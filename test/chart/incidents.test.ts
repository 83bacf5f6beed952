/** Each alert leads to a page that says what to do, and each page belongs to an alert. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { ROOT } from '../harness/program.ts'
import { CHART, find, render, specOf } from './helm.ts'

const rules = z.object({
  groups: z.array(
    z.object({
      rules: z.array(
        z.object({
          alert: z.string(),
          labels: z.object({ severity: z.string() }),
          annotations: z.record(z.string(), z.string()),
        }),
      ),
    }),
  ),
})
const alertsIn = (value: unknown) => rules.parse(value).groups.flatMap((group) => group.rules)
const alerts = alertsIn(parse(readFileSync(join(CHART, 'files', 'rules.yaml'), 'utf8')))

describe.each(alerts)('$alert', ({ alert, labels, annotations }) => {
  const page = readFileSync(join(ROOT, annotations.runbook ?? 'none'), 'utf8')

  it('has a page of its own, with everything that a person on call needs', () => {
    expect(annotations.runbook).toBe(`docs/incidents/${alert}.md`)
    expect(page.match(/^#+ .*$/gm)).toEqual([`# ${alert}`, '## Effect', '## Find the cause', '## What to do'])
    expect(page).toContain(`\n\nSeverity: ${labels.severity}. `)
    expect(page).toMatch(/^ {4}(kubectl|sluice) /m)
  })

  it('is in the index', () => {
    const index = readFileSync(join(ROOT, 'docs/incidents/README.md'), 'utf8')
    expect(index).toContain(`| [${alert}](${alert}.md) | ${labels.severity} |`)
  })
})

it('no page is left of an alert that is gone', () => {
  const pages = readdirSync(join(ROOT, 'docs/incidents')).filter((name) => name !== 'README.md')
  expect(pages.map((name) => name.replace('.md', '')).sort()).toEqual(alerts.map(({ alert }) => alert).sort())
})

it('monitoring.prometheusRule.docsURL makes addresses of the pages', async () => {
  const values = (docsURL: string) => ({ monitoring: { prometheusRule: { enabled: true, docsURL } } })
  const objects = await render(values('https://docs.example.com/sluice'))
  const published = alertsIn(specOf(find(objects, 'PrometheusRule', 'sluice')))
  expect(published.map(({ annotations }) => annotations.runbook_url)).toEqual(
    alerts.map(({ alert }) => `https://docs.example.com/sluice/incidents/${alert}.md`),
  )
  await expect(render(values('docs.example.com'))).rejects.toThrow(
    /at '\/monitoring\/prometheusRule\/docsURL'/,
  )
})
