/** For `node --import`: writes the URLs of all modules that the program loads, one a line, to the file MODULES_FILE. */
import { writeFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

const file = process.env.MODULES_FILE
const urls = new Set<string>()

registerHooks({
  load(url, context, next) {
    urls.add(url)
    return next(url, context)
  },
})
process.on('exit', () => {
  if (file !== undefined) writeFileSync(file, [...urls].join('\n'))
})
