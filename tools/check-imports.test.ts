import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { checkImports } from './check-imports.ts'

let root = ''
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'imports-'))
})
afterEach(() => rmSync(root, { recursive: true }))

/** Checks a tree with one file that imports one thing on its second line. */
function check(file: string, specifier: string): string[] {
  const path = join(root, file)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, `// why\nimport '${specifier}'\n`)
  return checkImports(root)
}

describe('forbidden', () => {
  test.each([
    ['contract/a.ts', '../store/contract.ts', 'contract may not import store'],
    ['contract/a.test.ts', '../store/contract.ts', 'contract may not import store'],
    ['store/embedded/a.ts', '../../proxy/errors.ts', 'store may not import proxy/errors.ts'],
    ['store/a.ts', '../controller/snapshot.ts', 'store may not import controller/snapshot.ts'],
    ['controller/main.ts', '../proxy/main.ts', 'controller/main.ts may not import proxy/main.ts'],
    ['controller/main.test.ts', '../proxy/main.ts', 'controller may not import proxy/main.ts'],
    ['controller/compile/a.ts', '../../store/contract.ts', 'controller/compile may not import store'],
    ['controller/compile/a.ts', '../publish/a.ts', 'controller/compile may not import controller/publish'],
    ['controller/status/a.ts', '../source/a.ts', 'controller/status may not import controller/source'],
    ['proxy/main.ts', '../controller/main.ts', 'proxy/main.ts may not import controller/main.ts'],
    ['proxy/auth/a.ts', '../table/a.ts', 'proxy/auth may not import proxy/table'],
    ['proxy/upstream/a.ts', '../dialects/dialect.ts', 'proxy/upstream may not import proxy/dialects'],
    ['proxy/outbound/a.ts', '../upstream/a.ts', 'proxy/outbound may not import proxy/upstream'],
    ['proxy/upstream/a.ts', 'undici', 'may import undici'],
    ['proxy/dialects/chat/a.ts', '../../ledger/a.ts', 'proxy/dialects/chat may not import proxy/ledger'],
    [
      'proxy/dialects/chat/a.ts',
      '../messages/a.ts',
      'proxy/dialects/chat may not import proxy/dialects/messages',
    ],
    [
      'proxy/dialects/core/hub/a.ts',
      '../../chat/a.ts',
      'proxy/dialects/core may not import proxy/dialects/chat',
    ],
    ['proxy/dialects/core/a.ts', '../index.ts', 'proxy/dialects/core may not import proxy/dialects'],
    ['proxy/dialects/messages/a.ts', '../openai/error.ts', 'may not import proxy/dialects/openai'],
    ['proxy/ledger/a.ts', '../pipeline/a.ts', 'proxy/ledger may not import proxy/pipeline'],
    ['proxy/pipeline/a.ts', '../server/a.ts', 'proxy/pipeline may not import proxy/server'],
    ['proxy/errors.ts', '../store/contract.ts', 'proxy/errors.ts may not import store'],
    ['proxy/server/a.ts', '../../cli/main.ts', 'proxy/server may not import cli'],
    ['examples/upstream/a.ts', '../../contract/ids.ts', 'examples may not import contract'],
    ['proxy/newroom/a.ts', '../errors.ts', 'proxy/newroom/a.ts has no place'],
    ['cli/a.ts', '../elsewhere/a.ts', 'elsewhere/a.ts has no place'],
    ['kit/a.ts', '../contract/ids.ts', 'kit may not import contract'],
    ['kit/a.test.ts', '../test/a.ts', 'kit may not import test'],
    ['kit/a.ts', 'zod', 'kit may import nothing but what Node brings'],
    ['contract/a.ts', 'node:fs', 'contract does no I/O'],
    ['controller/compile/a.ts', 'node:fs/promises', 'controller/compile does no I/O'],
    ['proxy/pipeline/a.ts', 'express', 'only proxy/server may import express'],
    ['proxy/server/a.ts', 'undici', 'only proxy/outbound, controller/kube, bench may import undici'],
    ['proxy/server/a.ts', 'undici/types', 'only proxy/outbound, controller/kube, bench may import undici'],
    ['store/embedded/a.ts', 'ioredis', 'only store/redis may import ioredis'],
    ['proxy/a.ts', '@kubernetes/client-node', 'only controller/kube may import @kubernetes/client-node'],
    ['proxy/pipeline/a.ts', 'pino', 'may import pino'],
    ['proxy/main.ts', 'commander', 'only cli may import commander'],
    ['proxy/dialects/chat/codec/a.ts', 'openai/resources', 'chat/wire.ts'],
    ['proxy/dialects/messages/wire.ts', 'openai', 'may import openai'],
    ['proxy/dialects/chat/wire.ts', '@anthropic-ai/sdk', 'messages/wire.ts may import @anthropic-ai/sdk'],
  ])('%s importing %s', (file, specifier, problem) => {
    const problems = check(file, specifier)
    expect(problems).toHaveLength(1)
    expect(problems[0]).toMatch(new RegExp(`^${file}:2: `))
    expect(problems[0]).toContain(problem)
  })
})

describe('allowed', () => {
  test.each([
    ['kit/a.ts', 'node:timers/promises'],
    ['kit/a.test.ts', 'vitest'],
    ['contract/a.ts', '../kit/a.ts'],
    ['controller/compile/a.test.ts', '../../kit/a.ts'],
    ['proxy/dialects/core/a.ts', '../../../kit/a.ts'],
    ['store/embedded/a.ts', '../contract.ts'],
    ['store/contract.ts', '../contract/money.ts'],
    ['controller/main.ts', './compile/a.ts'],
    ['controller/publish/a.ts', '../../store/contract.ts'],
    ['controller/compile/a.ts', '../snapshot.ts'],
    ['controller/compile/a.ts', 'node:crypto'],
    ['proxy/main.ts', './server/a.ts'],
    ['proxy/server/a.ts', 'express'],
    ['proxy/pipeline/a.ts', '../upstream/a.ts'],
    ['proxy/auth/a.ts', '../errors.ts'],
    ['proxy/auth/a.ts', './b.ts'],
    ['proxy/dialects/chat/a.ts', '../core/dialect.ts'],
    ['proxy/dialects/chat/a.ts', '../openai/error.ts'],
    ['proxy/dialects/chat/wire.ts', 'openai/resources'],
    ['proxy/dialects/messages/wire.ts', '@anthropic-ai/sdk/resources'],
    ['proxy/dialects/index.ts', './chat/index.ts'],
    ['proxy/auth/a.test.ts', '../table/a.ts'],
    ['proxy/server/a.test.ts', 'undici'],
    ['proxy/auth/a.test.ts', '../../examples/upstream/server.ts'],
    ['cli/dev.ts', '../controller/main.ts'],
    ['cli/dev.ts', '../proxy/main.ts'],
    ['cli/dev.ts', '../examples/upstream/server.ts'],
    ['tools/generate/main.ts', '../../contract/api/index.ts'],
    ['vitest.config.ts', 'vitest/config'],
  ])('%s importing %s', (file, specifier) => {
    expect(check(file, specifier)).toEqual([])
  })

  test('ignores imports of other packages', () => {
    expect(check('node_modules/x/contract/a.js', '../store/a.js')).toEqual([])
    expect(check('dist/contract/a.js', '../store/a.js')).toEqual([])
  })
})
