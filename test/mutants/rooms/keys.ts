/** Faults of what guesses at keys cost and learn, and of the change of sealing keys. */
import { faults, type Mutant } from '../fault.ts'

export const KEYS: Mutant[] = [
  ...faults(
    'proxy/table/key-directory.ts',
    'proxy/table/follower.test.ts',
    // A good key that was made while others guess is turned away.
    ['(this.#list ?? this.#named).add(hash)', 'this.#named.add(hash)'],
    // So is one that was made while the list was read.
    ['for (const hash of this.#named) list.add(hash)', ''],
    // A list that nobody vouches for turns keys away.
    ["(await this.#options.standing()) === 'current'", 'list.size >= 0'],
    // A flood goes on costing the store look-ups.
    ['this.#list ?? (counted ?', '(counted ?'],
    // A good key waits until all others have been listed.
    ['(counted ? undefined : await this.#readIfGiven())', '(await this.#readIfGiven())'],
    // After one flood a proxy keeps all keys, and each change of one, for ever.
    ['this.#options.now() - this.#neededAt > KEPT_MS', 'this.#options.now() < this.#neededAt'],
    // A proxy that starts among many good keys takes them for a flood.
    ['if (counted && found !== undefined) this.#left += 1', ''],
  ),

  // Of many keys most are missing in the list, and turned away in a flood.
  ...faults('store/redis/inspect.ts', 'test/conformance/store/redis-config.test.ts', [
    "while (cursor !== '0')",
    "while (cursor === '')",
  ]),

  // A key that was made after Redis went away is refused for good.
  ...faults('proxy/table/record-cache.ts', 'proxy/table/record-cache.test.ts', [
    "if ((await this.#source.knowledge.standing()) === 'current') return undefined",
    'return undefined',
  ]),

  ...faults(
    'proxy/auth/authenticate.ts',
    'proxy/auth/authenticate.test.ts',
    // Guesses in our own format cost a look-up each.
    ['isMintedFormat(presented.key) && !hasValidChecksum(presented.key)', 'presented.key.length === 0'],
    // What is no key costs a look-up.
    [' || presented.key.length > MAX_KEY_LENGTH', ''],
  ),

  ...faults(
    'proxy/table/key-directory.ts',
    'proxy/table/key-directory.test.ts',
    // A store that refuses the list is asked for it at every miss.
    ['this.#options.now() - this.#failure.at < RETRY_MS', 'false'],
    // Without the list good keys are refused.
    ['if (error instanceof StoreUnavailable) throw error\n      return undefined', 'throw error'],
  ),
  ...faults(
    'proxy/telemetry/request-log.ts',
    'proxy/telemetry/request-log.test.ts',
    // Guesses push all others out of the log.
    [
      'record.key === undefined && !this.#hasRoomForStranger()',
      'record.status === 401 && !this.#hasRoomForStranger()',
    ],
    // After the first second callers without a good key are in the log no more.
    ['if (second !== this.#second) this.#strangers = 0', ''],
  ),

  ...faults(
    'store/sealing.ts',
    'store/sealing.test.ts',
    // A program that is idle never says that it has the new key.
    ['setInterval(look, LOOK_MS).unref()', ''],
    // A file that is gone fills the log.
    ["if (found === '' && seen === '') return", ''],
    // Records under a new key do not open until the file is looked at anyway.
    ['performance.now() - lookedAt >= LOOK_AT_ONCE_MS', 'performance.now() < lookedAt'],
    // Records under a key that nobody has make the file be read for each of them.
    [' && performance.now() - lookedAt >= LOOK_AT_ONCE_MS', ''],
    // A Secret that is put back as it was is never said to be there again.
    ['    seen = found\n', ''],
    // The last good keys are thrown away for a file that is half written.
    [
      "      log.error({ err: error }, 'sealing keys",
      "      keys = new Map()\n      log.error({ err: error }, 'sealing keys",
    ],
  ),
]
