/**
 * Refusals that agents act on, as fixed sentences: agents search for these words and the numbers in them. Only numbers,
 * effort levels and fields of the client's own request are copied into them.
 */
import { EFFORTS } from '../../../../contract/features.ts'
import { allWordings } from './wordings.ts'

/** The sentence for a known kind of refusal, else undefined. `param` is the refused field. */
export function knownRefusal(text: string, param: string | undefined): string | undefined {
  for (const { wording, sentence } of allWordings().flatMap(({ refusals = [] }) => refusals)) {
    const found = wording.exec(text)
    if (found !== null) return sentence(...found.slice(1))
  }
  if (param !== undefined && /extra inputs are not permitted/i.test(text)) {
    return `${param}: Extra inputs are not permitted.`
  }
  return undefined
}

/** The sentence for an effort level that the model does not have. */
export function unknownEffort(text: string): string | undefined {
  const wordings = allWordings().flatMap(({ efforts = [] }) => efforts)
  const found = wordings.map((wording) => wording.exec(text)).find((match) => match !== null)
  if (found === undefined) return undefined
  const level = EFFORTS.find((effort) => effort === found[1])
  if (level === undefined) return 'This model does not support the effort parameter.'
  const [, listed = ''] = text.split(/supported (?:levels|values)/i)
  const levels = EFFORTS.filter((effort) => new RegExp(`\\b${effort}\\b`).test(listed))
  const supported = levels.length === 0 ? '' : ` Supported levels: ${levels.join(', ')}.`
  return `This model does not support effort level '${level}'.${supported}`
}

/**
 * The sentence for an output limit above the model's, with both limits: agents retry with a lower one. `field` is the
 * client's name for it.
 */
export function outputLimit(text: string, field: string): string | undefined {
  for (const wording of allWordings().flatMap(({ outputLimits = [] }) => outputLimits)) {
    const [, requested, limit] = wording.exec(text) ?? []
    if (requested === undefined) continue
    return `${field}: ${requested} > ${limit}, which is the maximum allowed number of output tokens for this model.`
  }
  return undefined
}
