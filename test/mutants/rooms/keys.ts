/** Faults of the cost and the gain of guessing keys, and of the rotation of sealing keys. */
import { faults, type Mutant } from '../fault.ts'

export const KEYS: Mutant[] = [
  ...faults(
    'proxy/table/key-directory.ts',
    'proxy/table/follower.test.ts',
    // A good key created during a flood is refused.
    ['(this.#list ?? this.#named).add(hash)', 'this.#named.add(hash)'],
    // A good key created while the list is read is refused.
    ['for (const hash of this.#named) list.add(hash)', ''],
    // An outdated list refuses keys.
    ["(await this.#options.standing()) === 'current'", 'list.size >= 0'],
    // A flood keeps costing the store look-ups.
    ['this.#list ?? (counted ?', '(counted ?'],
    // A good key waits until all others have been listed.
    ['(counted ? undefined : await this.#readIfGiven())', '(await this.#readIfGiven())'],
    // After one flood a proxy keeps all keys, and every change of one, forever.
    ['this.#options.now() - this.#neededAt > KEPT_MS', 'this.#options.now() < this.#neededAt'],
    // A proxy that starts with many good keys mistakes them for a flood.
    ['if (counted && found !== undefined) this.#left += 1', ''],
  ),

  // The controller repairs other records than those that are missing.
  ...faults('store/redis/inspect.ts', 'test/conformance/store/redis-config.test.ts', [
    'part[index - 1]',
    'records[index - 1]',
  ]),

  // Most of many keys are missing from the list and refused in a flood.
  ...faults('store/redis/inspect.ts', 'test/conformance/store/redis-config.test.ts', [
    "while (cursor !== '0')",
    "while (cursor === '')",
  ]),

  // A key created after Redis failed is refused for good.
  ...faults('proxy/table/record-cache.ts', 'proxy/table/record-cache.test.ts', [
    "if ((await this.#source.knowledge.standing()) === 'current') return undefined",
    'return undefined',
  ]),

  ...faults(
    'proxy/auth/authenticate.ts',
    'proxy/auth/authenticate.test.ts',
    // Each guess in the gateway's own format costs a look-up.
    ['isMintedFormat(presented.key) && !hasValidChecksum(presented.key)', 'presented.key.length === 0'],
    // A malformed key costs a look-up.
    [' || presented.key.length > MAX_KEY_LENGTH', ''],
  ),

  ...faults(
    'proxy/table/key-directory.ts',
    'proxy/table/key-directory.test.ts',
    // A store that refuses the list gets another request for it at every miss.
    ['this.#options.now() - this.#failure.at < RETRY_MS', 'false'],
    // Without the list good keys are refused.
    ['if (error instanceof StoreUnavailable) throw error\n      return undefined', 'throw error'],
  ),
  ...faults(
    'proxy/telemetry/request-log.ts',
    'proxy/telemetry/request-log.test.ts',
    // Guesses push all other lines out of the log.
    [
      'record.key === undefined && !this.#hasRoomForStranger()',
      'record.status === 401 && !this.#hasRoomForStranger()',
    ],
    // After the first second the log omits callers without a good key.
    ['if (second !== this.#second) this.#strangers = 0', ''],
  ),

  ...faults(
    'store/sealing.ts',
    'store/sealing.test.ts',
    // An idle program never reports the new key.
    ['setInterval(look, LOOK_MS).unref()', ''],
    // A missing file fills the log.
    ["if (found === '' && seen === '') return", ''],
    // Records under a new key do not open until the next regular check of the file.
    ['performance.now() - lookedAt >= LOOK_AT_ONCE_MS', 'performance.now() < lookedAt'],
    // Each record under an unknown key makes the program read the file.
    [' && performance.now() - lookedAt >= LOOK_AT_ONCE_MS', ''],
    // A Secret restored to its old text is never reported.
    ['    seen = found\n', ''],
    // A half-written file removes the last good keys.
    [
      "      log.error({ err: error }, 'sealing keys",
      "      keys = new Map()\n      log.error({ err: error }, 'sealing keys",
    ],
  ),
]
