/** Nothing of a conversation is in clear in Redis or in any log. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { METERED, UNMETERED } from '../proxy/world.ts'
import { KEEPING, NAMES, type Place, startPlace } from './place.ts'
import { ask, say } from './say.ts'

/** Only these letters, so that no digest or base64 contains it by chance. */
const SECRET = 'whatnobodyshallread'
const SESSION = 'session-whatnobodyshallread'

let place: Place
beforeAll(async () => {
  place = await startPlace()
})
afterAll(() => place?.stop())

it("neither texts, nor keys, nor a client's session names", async () => {
  const { one, two, speakers } = place
  for (const key of [UNMETERED, METERED]) {
    for (const model of [...NAMES, 'session', 'paid-chat', 'paid-first']) {
      const stream = key === METERED
      const headers = { 'x-session-affinity': SESSION }
      const more = { prompt_cache_key: SESSION, instructions: SECRET }
      const first = await say(one.base, key, { model, input: SECRET, stream, headers, more })
      const turn = { model, input: `${SECRET} too`, stream, headers, more, previous: first.id }
      const second = await say(two.base, key, turn)
      for (const name of KEEPING) speakers[name].kept.delete(second.id)
      expect((await say(one.base, key, { ...turn, previous: second.id })).read).toHaveLength(5)
      await ask(two.base, key === METERED ? UNMETERED : METERED, turn)
      await ask(two.base, key, { ...turn, previous: `resp_${SECRET}` })
    }
    // The channel of encrypted vendor state is noted.
    await say(one.base, key, { model: 'keeping', input: SECRET, more: { store: false } })
  }
  const stored = await everything()
  expect(stored.get('conv')?.length).toBeGreaterThan(20)
  expect(stored.get('resp')?.length).toBeGreaterThan(20)
  expect(stored.get('aff')?.length).toBeGreaterThan(2)
  const secrets = [SECRET, UNMETERED, METERED, SESSION, 'first-1', 'chat-1']
  const forms = secrets.flatMap((text) => [text, ...encoded(text)])
  const texts = [...stored.values()].flat()
  const logs = [one, two].flatMap(({ log, requests }) => [...log, ...requests])
  expect(logs.length).toBeGreaterThan(40)
  for (const form of forms) {
    expect(texts.filter((text) => text.includes(form))).toEqual([])
    expect(logs.filter((text) => text.includes(form))).toEqual([])
  }
})

/** Base64 of a longer text that contains it, without the characters that depend on neighbors; none for short ones. */
function encoded(text: string): string[] {
  if (text.length < 12) return []
  return [0, 1, 2].map((before) =>
    Buffer.from(`${'x'.repeat(before)}${text}`)
      .toString('base64')
      .slice(before === 0 ? 0 : 4, -4),
  )
}

/** Each key with its whole content, by what the key is of. */
async function everything(): Promise<Map<string, string[]>> {
  const { redis } = place.world
  const found = new Map<string, string[]>()
  const keys = (await redis.command('KEYS', '*')) as string[]
  for (const key of keys) {
    const type = String(await redis.command('TYPE', key))
    const value = await redis.command(...READ[type as keyof typeof READ](key))
    const [, kind = ''] = /:(conv|resp|aff)\b/.exec(key) ?? []
    found.set(kind, [...(found.get(kind) ?? []), `${key} ${JSON.stringify(value)}`])
  }
  return found
}

type Command = [name: string, ...args: (string | number)[]]
const READ = {
  string: (key: string): Command => ['GET', key],
  hash: (key: string): Command => ['HGETALL', key],
  set: (key: string): Command => ['SMEMBERS', key],
  zset: (key: string): Command => ['ZRANGE', key, 0, -1],
  stream: (key: string): Command => ['XRANGE', key, '-', '+'],
}
