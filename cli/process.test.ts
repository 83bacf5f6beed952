import { expect, it } from 'vitest'
import { startProblem } from './process.ts'

const PORTS = { SLUICE_PORT: 80, SLUICE_ADMIN_PORT: 8081 }
const failure = (code: string, port: number) =>
  Object.assign(new Error(`listen ${code}: 127.0.0.1:${port}`), { code, port })

it.each([
  [
    'EACCES',
    80,
    'this user may not listen on port 80, as on all ports below 1024; choose another one with SLUICE_PORT',
  ],
  [
    'EADDRINUSE',
    8081,
    'port 8081 is taken; choose another one with SLUICE_ADMIN_PORT (with make run: ADMIN_PORT=9081)',
  ],
  ['EADDRNOTAVAIL', 80, 'listen EADDRNOTAVAIL: 127.0.0.1:80'],
])('%s of port %i', (code, port, text) => expect(startProblem(failure(code, port), PORTS)).toBe(text))

it('the same port for API and admin', () => {
  expect(startProblem(failure('EADDRINUSE', 80), { SLUICE_PORT: 80, SLUICE_ADMIN_PORT: 80 })).toContain(
    'SLUICE_PORT and SLUICE_ADMIN_PORT are both 80',
  )
})
