/** A file of sealing keys as kubelet mounts a Secret: a link through `..data`, which a rename replaces. */
import { mkdirSync, readlinkSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

export class MountedSecret {
  readonly #file: string
  #turns = 0

  /** `file` may exist already; from the first `turn` on it is a link. */
  constructor(file: string) {
    this.#file = file
  }

  /** Replaces its text and removes the old one. */
  turn(text: string): void {
    const dir = dirname(this.#file)
    const name = basename(this.#file)
    const data = join(dir, '..data')
    const before = this.#turns > 0 ? readlinkSync(data) : undefined
    this.#turns += 1
    const folder = `..2030_01_01_${this.#turns}`
    mkdirSync(join(dir, folder))
    writeFileSync(join(dir, folder, name), text, { mode: 0o600 })
    replaceByLink(folder, data)
    if (before === undefined) replaceByLink(join('..data', name), this.#file)
    else rmSync(join(dir, before), { recursive: true })
  }
}

function replaceByLink(target: string, path: string): void {
  symlinkSync(target, `${path}_tmp`)
  renameSync(`${path}_tmp`, path)
}
