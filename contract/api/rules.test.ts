/**
 * Every rule exists twice, as CEL for the API server and as code for folder mode and the controller. Each case runs
 * through both, and both must give the expected verdict.
 */
import { BlockList, isIPv4, isIPv6 } from 'node:net'
import { Environment } from '@marcbachmann/cel-js'
import { describe, expect, it } from 'vitest'
import { KINDS, type Kind, type Rule } from './index.ts'
import { RULE_CASES, type RuleCase } from './rules.cases.ts'

const MAPPED = new BlockList()
MAPPED.addSubnet('::ffff:0:0', 96, 'ipv6')

/** https://kubernetes.io/docs/reference/using-api/cel/#kubernetes-ip-address-library: no zones, no mapped addresses. */
function isIP(text: string): boolean {
  return isIPv4(text) || (isIPv6(text) && !text.includes('%') && !MAPPED.check(text, 'ipv6'))
}

function isCIDR(text: string): boolean {
  const slash = text.lastIndexOf('/')
  const [address, bits] = [text.slice(0, slash), text.slice(slash + 1)]
  if (slash < 0 || !isIP(address) || String(Number.parseInt(bits, 10)) !== bits) return false
  return Number(bits) >= 0 && Number(bits) <= (isIPv4(address) ? 32 : 128)
}

/** The CEL environment of a Kubernetes API server; lowerAscii, matches and size come with the library. */
const cel = new Environment()
  .registerVariable('self', 'dyn')
  .registerVariable('oldSelf', 'dyn')
  .registerFunction('isIP(string): bool', isIP)
  .registerFunction('isCIDR(string): bool', isCIDR)

/** The API server evaluates a rule on updates only when there is an old value. */
function celVerdict(rule: Rule<unknown>, spec: unknown, old: unknown): unknown {
  if (rule.cel.includes('oldSelf') && old === undefined) return true
  return cel.evaluate(rule.cel, { self: spec, oldSelf: old })
}

const kinds: Kind[] = Object.values(KINDS)

describe.each(kinds)('rules of $kind', (kind) => {
  const cases = Object.entries(RULE_CASES).find(([name]) => name === kind.kind)?.[1] ?? {}

  it('each have cases that pass and that fail', () => {
    const uncovered = kind.rules.filter(({ message }) => {
      const own = Object.entries(cases).filter(([start]) => message.startsWith(start))
      return own.length !== 1 || !own[0]?.[1].passes.length || !own[0][1].fails.length
    })
    expect(uncovered.map(({ message }) => message)).toEqual([])
    expect(Object.keys(cases)).toHaveLength(kind.rules.length)
  })

  for (const rule of kind.rules) {
    const own = Object.entries(cases).find(([start]) => rule.message.startsWith(start))?.[1]

    const check = ({ spec, old }: RuleCase, expected: boolean) => {
      const parsed = kind.spec.parse(spec)
      const parsedOld = old === undefined ? undefined : kind.spec.parse(old)
      expect({ test: rule.test(parsed, parsedOld), cel: celVerdict(rule, parsed, parsedOld) }).toEqual({
        test: expected,
        cel: expected,
      })
    }
    it.each(own?.passes ?? [])(`${rule.message}: passes #%#`, (value) => check(value, true))
    it.each(own?.fails ?? [])(`${rule.message}: fails #%#`, (value) => check(value, false))
  }
})
