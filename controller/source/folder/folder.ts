/** Reads snapshots from a folder of YAML and JSON files. */
import type { Log } from '../../../contract/log.ts'
import type { Snapshot } from '../../snapshot.ts'
import { Catalogue } from './catalogue.ts'
import { EmptiedFiles } from './emptied.ts'
import { errorCode, type Listing, listFolder, pathWatches, readSource } from './files.ts'
import { type Problem, problemText } from './problem.ts'
import type { SourceFile } from './source-file.ts'
import { DirectoryWatch } from './watch.ts'

interface FolderOptions {
  dir: string
  /** Namespace of all resources; documents may set it or leave it out. */
  namespace: string
  /** Values for `${NAME}`. */
  env: Readonly<Record<string, string | undefined>>
  log: Log
  /** Interval of readings without an event, in case one is lost. Default 5000. */
  rereadMs?: number
}

/** The folder does not exist, is not a folder, or cannot be read. */
export class FolderMissing extends Error {
  override name = 'FolderMissing'
}

export class FolderSource {
  readonly #options: FolderOptions
  readonly #catalogue: Catalogue
  readonly #watch: DirectoryWatch
  readonly #emptied = new EmptiedFiles()
  #onSnapshot: (snapshot: Snapshot, problems: Problem[]) => void = () => {}
  /** The running reading; the next one starts after it. */
  #reading: Promise<void> = Promise.resolve()
  #reread: NodeJS.Timeout | undefined
  #lookAgain: NodeJS.Timeout | undefined
  #stopped = false
  #lastFiles: string | undefined
  #logged = new Set<string>()
  #folderLost = false

  constructor(options: FolderOptions) {
    this.#options = options
    this.#catalogue = new Catalogue(options)
    this.#watch = new DirectoryWatch(() => this.#read(), options.log)
  }

  /** The folder cannot be listed; its last resources are in force. */
  get isLost(): boolean {
    return this.#folderLost
  }

  /**
   * Calls `onSnapshot` once before it resolves, and again whenever the files change, with all current problems. Rejects
   * with FolderMissing.
   */
  async start(onSnapshot: (snapshot: Snapshot, problems: Problem[]) => void): Promise<void> {
    const { dir, rereadMs = 5000 } = this.#options
    await listFolder(dir).catch((error: unknown) => {
      const hint = 'set SLUICE_CONFIG_DIR (with make run: CONFIG) to a folder of resources'
      throw new FolderMissing(`${dir} is not a folder that can be read (${errorCode(error)}); ${hint}`)
    })
    this.#onSnapshot = onSnapshot
    await this.#read()
    this.#reread = setInterval(() => this.#read(), rereadMs)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    clearInterval(this.#reread)
    this.#watch.close()
    await this.#reading
    clearTimeout(this.#lookAgain)
  }

  #read(): Promise<void> {
    this.#reading = this.#reading.then(async () => {
      if (this.#stopped) return
      await this.#readOnce().catch((error: unknown) => {
        // The resources in force stay, and the next reading may succeed.
        this.#options.log.error({ err: error }, 'reading the folder of resources failed')
      })
    })
    return this.#reading
  }

  async #readOnce(): Promise<void> {
    const listing = await this.#list()
    const added = await this.#watch.follow(listing?.watch ?? (await pathWatches(this.#options.dir)))
    if (this.#stopped) this.#watch.close()
    else if (added) this.#watch.trigger()
    if (listing === undefined) return
    const read: SourceFile[] = []
    for (const path of listing.files) {
      const file = await readSource(path)
      if (file !== undefined) read.push(file)
    }
    // Some files disappeared: either they were deleted, or the folder was, and then nothing is known about them.
    if (read.length < listing.files.length && !(await this.#hasOnly(read))) return
    const { files, lookAgainInMs } = this.#emptied.settle(read, performance.now())
    clearTimeout(this.#lookAgain)
    if (lookAgainInMs !== undefined)
      this.#lookAgain = setTimeout(() => this.#read(), Math.ceil(lookAgainInMs))
    const content = JSON.stringify(files)
    if (this.#stopped || content === this.#lastFiles) return
    const { snapshot, problems } = this.#catalogue.update(files, Date.now())
    this.#logNew(problems)
    this.#onSnapshot(snapshot, problems)
    // Only now, so that a reading that throws is repeated.
    this.#lastFiles = content
  }

  /** False if the folder now has other files; then it is read once more. */
  async #hasOnly(read: readonly SourceFile[]): Promise<boolean> {
    const listing = await this.#list()
    if (listing === undefined) return false
    const same = listing.files.join('\n') === read.map(({ path }) => path).join('\n')
    if (!same) this.#watch.trigger()
    return same
  }

  /** Undefined if the folder cannot be listed; then nothing changes. */
  async #list(): Promise<Listing | undefined> {
    const { dir, log } = this.#options
    try {
      const listing = await listFolder(dir)
      if (this.#folderLost) log.info({ dir }, 'the folder of resources can be read again')
      this.#folderLost = false
      return listing
    } catch (error) {
      if (!this.#folderLost)
        log.warn(
          { dir, code: errorCode(error) },
          'the folder of resources cannot be read; its last resources stay in force',
        )
      this.#folderLost = true
      return undefined
    }
  }

  #logNew(problems: readonly Problem[]): void {
    const texts = problems.map(problemText)
    for (const text of texts) if (!this.#logged.has(text)) this.#options.log.warn({}, text)
    if (texts.length === 0 && this.#logged.size > 0)
      this.#options.log.info({}, 'no problems left in the folder')
    this.#logged = new Set(texts)
  }
}
