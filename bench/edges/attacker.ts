/** Carries out one attack, by its name, until it is ended: `attacker.ts <name> <port> <key>`. */
import { ATTACKS } from './attacks.ts'

const [, , name, port, key] = process.argv
const attack = ATTACKS.find((one) => one.name === name)
if (attack === undefined || port === undefined || key === undefined)
  throw new Error('attacker.ts <name> <port> <key>')
const victim = { port: Number(port), key }
const start = performance.now()
let n = 0
// The first line shows that it has begun.
console.log(port)
setInterval(() => {
  for (const due = ((performance.now() - start) / 1_000) * attack.rate; n < due; n++) attack.step(victim, n)
}, 10)
