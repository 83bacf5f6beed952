// What `helm test` runs: a proxy is ready, and the API refuses a key that does not exist. Arguments: both base URLs, and
// how many seconds each may take.
const [api, admin, seconds] = process.argv.slice(-3)
const CHECKS = [
  [`${admin}/readyz`, {}, 200],
  [`${api}/v1/models`, { authorization: 'Bearer sk-helm-test' }, 401],
]

async function check([url, headers, expected]) {
  const answer = await fetch(url, { headers, signal: AbortSignal.timeout(5_000) })
  if (answer.status === expected) return `${url} answers ${expected}`
  throw new Error(`${url} answers ${answer.status}, not ${expected}: ${(await answer.text()).slice(0, 500)}`)
}

async function patiently(step, end) {
  for (;;) {
    try {
      return await check(step)
    } catch (error) {
      if (performance.now() > end) throw new Error(error.message, { cause: error.cause })
      await new Promise((resolve) => setTimeout(resolve, 1_000))
    }
  }
}

async function main() {
  for (const step of CHECKS) console.log(await patiently(step, performance.now() + 1_000 * seconds))
}

main().catch((error) => {
  console.error(`${error.message}${error.cause ? ` (${error.cause.message})` : ''}`)
  process.exitCode = 1
})
