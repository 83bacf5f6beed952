/** Each program runs in a process of its own: V8's flags and the load of the event loop belong to a process. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const ENGINE = JSON.stringify(new URL('engine.ts', import.meta.url).href)

function run(code: string, ...flags: string[]): Promise<{ stdout: string; stderr: string }> {
  const program = `import * as engine from ${ENGINE}\n${code}`
  return promisify(execFile)(process.execPath, [...flags, '--input-type=module', '--eval', program])
}

test('memory is collected once the program is quiet with nothing in flight, and again only when it has grown', async () => {
  const { stdout } = await run(`
    import { setTimeout as delay } from 'node:timers/promises'
    let inFlight = 1
    let looks = 0
    let collections = 0
    const requests = { inFlight: () => { looks++; return inFlight }, begun: () => 0 }
    const stop = engine.collectWhenQuiet(requests, { lookMs: 50, collect: () => collections++ })
    const said = []
    const looked = async (more) => {
      const enough = looks + more
      while (looks < enough) await delay(5)
    }
    const held = []
    const grow = () => held.push(Buffer.alloc(64 * 1024 * 1024, 1))
    const note = (when) => said.push([when, collections])
    grow()
    await looked(3)
    note('in flight')
    inFlight = 0
    while (collections === 0) await delay(5)
    await looked(3)
    note('quiet')
    grow()
    while (collections === 1) await delay(5)
    await looked(3)
    note('grown')
    stop()
    console.log(JSON.stringify(said), held.length)
  `)
  expect(stdout.trim()).toBe('[["in flight",0],["quiet",1],["grown",2]] 2')
})

test('the memory of the start is given back once', async () => {
  const { stdout } = await run(`
    import { setTimeout as delay } from 'node:timers/promises'
    let looks = 0
    let collections = 0
    const requests = { inFlight: () => { looks++; return 0 }, begun: () => 0 }
    engine.collectWhenQuiet(requests, { lookMs: 50, collect: () => collections++ })
    while (looks < 4) await delay(5)
    console.log(collections)
    process.exit()
  `)
  expect(stdout.trim()).toBe('1')
})

test('with few requests, memory is given back after ten quiet looks', async () => {
  const { stdout } = await run(`
    import { setTimeout as delay } from 'node:timers/promises'
    let looks = 0
    const collected = []
    let begun = 0
    const requests = { inFlight: () => { looks++; return 0 }, begun: () => ++begun }
    engine.collectWhenQuiet(requests, { lookMs: 30, collect: () => collected.push(looks) })
    while (collected.length < 1) await delay(5)
    const held = Buffer.alloc(64 * 1024 * 1024, 1)
    while (collected.length < 2) await delay(5)
    console.log(collected[0] >= 10, collected[1] - collected[0] >= 10, held.length)
    process.exit()
  `)
  expect(stdout.trim()).toBe('true true 67108864')
})

test('a busy program is not held up by a collection', async () => {
  const { stdout } = await run(`
    let collections = 0
    engine.collectWhenQuiet({ inFlight: () => 0, begun: () => 0 }, { lookMs: 50, collect: () => collections++ })
    const held = Buffer.alloc(64 * 1024 * 1024, 1)
    const until = performance.now() + 500
    const work = () => {
      const turn = performance.now() + 5
      while (performance.now() < turn);
      if (performance.now() < until) setImmediate(work)
      else console.log(collections, held.length)
    }
    work()
  `)
  expect(stdout.trim()).toBe('0 67108864')
})

test('the space for new objects stays at 32 MB while many requests are in flight, and grows again after them', async () => {
  const program = `
    import { getHeapSpaceStatistics } from 'node:v8'
    import { setImmediate as turn } from 'node:timers/promises'
    const size = () => getHeapSpaceStatistics().find((space) => space.space_name === 'new_space').space_size
    let looks = 0
    let inFlight = 257
    engine.boundNewSpace(() => { looks++; return inFlight }, { lookMs: 1 })
    const kept = []
    // While V8 marks old objects, it puts a collection off and adds pages to a space that is full.
    const isPutOff = () => size() % (32 * 1024 * 1024) !== 0
    const grown = async () => {
      for (let round = 0; round < 300 || isPutOff(); round++) {
        for (let n = 0; n < 5_000; n++) kept.push({ round, n, text: [round, n] })
        const enough = looks + 1
        while (looks < enough) await turn()
      }
      return size() / 1024 / 1024
    }
    const many = await grown()
    inFlight = 256
    console.log(JSON.stringify({ many, few: await grown() }))
  `
  const { stdout } = await run(program, '--max-semi-space-size=64')
  const { many, few } = JSON.parse(stdout)
  expect(many).toBe(32)
  expect(few).toBeGreaterThan(32)
})

test('V8 knows every flag that the engine sets, and collects when asked to', async () => {
  const { stdout, stderr } = await run(`
    engine.weighSocketBuffers()
    engine.freeCompilerMemory()
    engine.optimizeEarly()
    const forgotten = new WeakRef({})
    setImmediate(() => {
      engine.collectStartGarbage()
      console.log(forgotten.deref())
    })
  `)
  expect({ stdout: stdout.trim(), stderr }).toEqual({ stdout: 'undefined', stderr: '' })
})

test('V8 optimises a function after hundreds of calls, not thousands', async () => {
  const { stdout } = await run(
    `
    import { setTimeout as delay } from 'node:timers/promises'
    engine.optimizeEarly()
    const add = (a, b) => a + b
    let calls = 0
    const call = (times) => { for (let n = 0; n < times; n++, calls++) add(n, 1) }
    %NeverOptimizeFunction(call)
    const compiled = async (isCompiled) => { for (; !isCompiled(); call(1)) await delay(10) }
    call(1_000)
    await compiled(() => %ActiveTierIsMaglev(add) || %ActiveTierIsTurbofan(add))
    call(1_000)
    await compiled(() => %ActiveTierIsTurbofan(add))
    console.log(calls)
  `,
    '--allow-natives-syntax',
  )
  expect(Number(stdout)).toBeLessThan(3_000)
})

test('the warming of ticks leaves none for a collection to keep', async () => {
  const { stdout } = await run(`
    engine.collectStartGarbage()
    const before = process.memoryUsage().heapUsed
    engine.warmTicks()
    engine.collectStartGarbage()
    console.log(process.memoryUsage().heapUsed - before)
  `)
  // Ten thousand of them would take 2 MB.
  expect(Number(stdout)).toBeLessThan(500_000)
})

test('strings keep fast methods although ioredis extends String', async () => {
  const { stdout } = await run(
    `
    await import('ioredis')
    const isFast = () => %HasFastProperties(String.prototype)
    const before = isFast()
    engine.quickenStrings()
    console.log(before, isFast())
  `,
    '--allow-natives-syntax',
  )
  expect(stdout.trim()).toBe('false true')
})
