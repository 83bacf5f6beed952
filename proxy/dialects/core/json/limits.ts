/** The refusals of JSON past its limits. */
import { GatewayError } from '../../../errors.ts'

export const tooDeep = (most: number) => refusal(`nests deeper than ${most} levels`)
export const tooManyKeys = (most: number) => refusal(`has more than ${most} object keys`)
export const tooManyValues = (most: number) => refusal(`has more than ${most} values`)
export const notAnObject = () => refusal('must be a JSON object')

function refusal(problem: string): GatewayError {
  return new GatewayError('invalid_request', `The body ${problem}.`)
}
