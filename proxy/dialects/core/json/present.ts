export { present } from '../../../../kit/present.ts'
