/** Each case of each rule, judged by a real API server and by folder mode: the same verdict, the same sentence. */
import { beforeAll, describe, expect, it } from 'vitest'
import { KINDS } from '../../contract/api/index.ts'
import { RULE_CASES, type RuleCase } from '../../contract/api/rules.cases.ts'
import { controlPlane } from '../harness/control-plane.ts'
import { type Api, apiOf, sentenceOf } from './api.ts'
import { judgeInFolder, KIND_NAMES } from './verdicts.ts'

let api: Api
beforeAll(async () => {
  const cluster = await controlPlane()
  api = apiOf(cluster, await cluster.createNamespace())
})

/** A CRD's schema also bounds maps; it is checked first and has its own sentences. */
const BOUND_OF_MAP = /^Too many: \d+: must have at most \d+ items$/

describe.each(KIND_NAMES)('rules of %s', (kind) => {
  const cases = Object.entries(RULE_CASES[kind]).flatMap(([start, { passes, fails }]) => {
    const { message } = KINDS[kind].rules.find((rule) => rule.message.startsWith(start)) ?? { message: '' }
    return [
      ...passes.map((one, index) => ({ one, message, passes: true, name: `${start}: passes #${index}` })),
      ...fails.map((one, index) => ({ one, message, passes: false, name: `${start}: fails #${index}` })),
    ]
  })

  const judge = async ({ spec, old }: RuleCase, index: number) => {
    const name = `case-${index}`
    if (old === undefined) return await api.judge(kind, name, spec)
    await api.create(kind, name, old)
    return await api.judgeUpdate(kind, name, spec)
  }

  it('are judged alike by the API server and in a folder', async () => {
    const judged = await Promise.all(
      cases.map(async ({ one, name, message, passes }, index) => {
        const server = await judge(one, index)
        const folder = judgeInFolder(kind, `case-${index}`, one.spec, one.old)
        const sentences = server.causes.map(sentenceOf).sort()
        return {
          name,
          passes,
          message,
          server: sentences.some((sentence) => BOUND_OF_MAP.test(sentence)) ? [message] : sentences,
          folder: folder.faults.map((fault) => fault.message).sort(),
        }
      }),
    )
    expect(judged.length).toBeGreaterThan(0)
    expect(judged.filter(({ server, folder }) => String(server) !== String(folder))).toEqual([])
    expect(judged.filter(({ server, passes, message }) => server.includes(message) === passes)).toEqual([])
  })
})
