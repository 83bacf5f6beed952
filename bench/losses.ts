/** Where Sluice costs more than another server that does the same job, in words. */
import { FLOOR, type Measured } from './report.ts'
import { unitOf } from './scenarios.ts'

const isSluice = (target: string) => target.startsWith('Sluice')

/** One line for each scenario in which some server beside the passthrough costs less CPU than Sluice with all its parts. */
export function lossesOf(measured: Measured): string {
  const others = measured.targets.filter((name) => !isSluice(name) && name !== FLOOR && name !== 'direct')
  const lines = measured.scenarios().flatMap((scenario) => {
    const ratio = (target: string) => measured.ratio(scenario, target).withRedis
    const lost = measured.targets.filter(isSluice).flatMap((own) => {
      const cheaper = others.filter((other) => ratio(other) < ratio(own))
      const shares = cheaper.map((other) => `${(ratio(own) / ratio(other)).toFixed(1)} times ${other}`)
      return shares.length === 0 ? [] : [`${own} costs ${shares.join(', ')}`]
    })
    return lost.length === 0 ? [] : [`- ${scenario.name}: ${lost.join('; ')} per ${unitOf(scenario)}.`]
  })
  if (others.length === 0) return 'No other server was measured.'
  return lines.length === 0
    ? `Sluice costs less than ${others.join(', ')} in every scenario.`
    : lines.join('\n')
}
