/**
 * Refusals that agents act on, as fixed sentences: agents look for these words, and for the numbers in them. Only numbers,
 * levels of effort and fields of the client's own request are copied into them.
 */
import { EFFORTS } from '../../../../contract/profiles.ts'
import { allWordings } from './wordings.ts'

/** The sentence for a refusal of one of the known kinds, else undefined. `param` is the field that it is about. */
export function knownRefusal(text: string, param: string | undefined): string | undefined {
  for (const { wording, say } of allWordings().flatMap(({ refusals = [] }) => refusals)) {
    const found = wording.exec(text)
    if (found !== null) return say(...found.slice(1))
  }
  if (param !== undefined && /extra inputs are not permitted/i.test(text)) {
    return `${param}: Extra inputs are not permitted.`
  }
  return undefined
}

/** The sentence for a depth of thinking that the model does not have. */
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
 * The sentence for an output limit that the model does not reach, with the limit asked for and the model's; agents
 * ask again with less. `field` is the client's name for it.
 */
export function outputLimit(text: string, field: string): string | undefined {
  for (const wording of allWordings().flatMap(({ outputLimits = [] }) => outputLimits)) {
    const [, asked, limit] = wording.exec(text) ?? []
    if (asked === undefined) continue
    return `${field}: ${asked} > ${limit}, which is the maximum allowed number of output tokens for this model.`
  }
  return undefined
}
