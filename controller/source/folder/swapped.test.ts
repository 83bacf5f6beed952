/** The folder is swapped between its listing and the reading of its files. */
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { Snapshot } from '../../snapshot.ts'
import { FolderSource } from './folder.ts'

let beforeRead: (path: string) => Promise<void> = async () => {}
vi.mock('./files.ts', async (original) => {
  const files = await original<typeof import('./files.ts')>()
  return {
    ...files,
    async readSource(path: string) {
      await beforeRead(path)
      return files.readSource(path)
    },
  }
})

let root: string
let source: FolderSource
let snapshots: Snapshot[]

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'sluice-swapped-'))
  snapshots = []
  await fill('folder')
  source = new FolderSource({
    dir: join(root, 'folder'),
    namespace: 'default',
    env: {},
    log: { info() {}, warn() {}, error() {} },
    rereadMs: 20,
  })
})
afterEach(async () => {
  beforeRead = async () => {}
  await source.stop()
  await rm(root, { recursive: true })
})

async function fill(dir: string): Promise<void> {
  await mkdir(join(root, dir))
  for (const name of ['a', 'b']) await writeFile(join(root, dir, `${name}.yaml`), account(name))
}
const account = (name: string) =>
  `apiVersion: sluice.dev/v1alpha1\nkind: Account\nmetadata: {name: ${name}}\nspec: {}\n`

it('nothing counts as deleted', async () => {
  await source.start((snapshot) => snapshots.push(snapshot))
  let reads = 0
  beforeRead = async () => {
    reads += 1
    // Removed before the first file is read, and replaced by another folder before the second one.
    if (reads === 1) await rename(join(root, 'folder'), join(root, 'away'))
    if (reads === 2) await fill('folder')
  }
  await vi.waitFor(() => expect(reads).toBeGreaterThanOrEqual(4))
  beforeRead = async () => {}
  await writeFile(join(root, 'folder', 'c.yaml'), account('c'))
  await vi.waitFor(() => expect(snapshots.at(-1)?.accounts).toHaveLength(3))
  for (const { accounts } of snapshots) expect(accounts.length).toBeGreaterThanOrEqual(2)
})
