/**
 * Loaded into a program with --import: counts the promises, timers and other resources that it makes. SIGUSR2 starts a
 * count; the next SIGUSR2 ends it and writes it to the file that ASYNC_COUNT names.
 */
import { createHook } from 'node:async_hooks'
import { renameSync, writeFileSync } from 'node:fs'

const file = process.env.ASYNC_COUNT ?? ''
let counts: Record<string, number> | undefined

const hook = createHook({
  init(_id, type) {
    if (counts !== undefined) counts[type] = (counts[type] ?? 0) + 1
  },
})

process.on('SIGUSR2', () => {
  if (counts === undefined) {
    counts = {}
    hook.enable()
    writeFileSync(`${file}.begun`, '')
    return
  }
  hook.disable()
  writeFileSync(`${file}.new`, JSON.stringify(counts))
  counts = undefined
  renameSync(`${file}.new`, file)
})
