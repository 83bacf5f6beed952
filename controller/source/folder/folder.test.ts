import { mkdir, mkdtemp, realpath, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Snapshot } from '../../snapshot.ts'
import { listFolder } from './files.ts'
import { FolderMissing, FolderSource } from './folder.ts'
import type { Problem } from './problem.ts'
import { DirectoryWatch } from './watch.ts'

const account = (name: string, spec = '{}') =>
  `apiVersion: sluice.dev/v1alpha1\nkind: Account\nmetadata: { name: ${name} }\nspec: ${spec}\n`

let root: string
let dir: string
let source: FolderSource | undefined
let seen: { names: string[]; problems: Problem[] }[]
let logged: string[]

const last = () => seen.at(-1)?.names
/** Never within the time of a test, so that only events count. */
const NEVER_MS = 3_600_000

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'sluice-folder-'))
  dir = join(root, 'config')
  await mkdir(dir)
  seen = []
  logged = []
})

afterEach(async () => {
  await source?.stop()
  source = undefined
  await rm(root, { recursive: true, force: true })
})

async function start(path = dir, rereadMs = NEVER_MS): Promise<void> {
  const note = (_: object, message: string) => logged.push(message)
  const log = { info: note, warn: note, error: note }
  source = new FolderSource({ dir: path, namespace: 'default', env: {}, log, rereadMs })
  await source.start((snapshot: Snapshot, problems) => {
    seen.push({ names: snapshot.accounts.map(({ metadata }) => metadata.name).sort(), problems })
  })
}

async function accepts(names: string[]): Promise<void> {
  const note = () => {}
  const log = { info: note, warn: note, error: note }
  let failures = 1
  source = new FolderSource({ dir, namespace: 'default', env: {}, log, rereadMs: 20 })
  await source.start((snapshot) => {
    if (failures-- > 0) throw new Error('not taken')
    seen.push({ names: snapshot.accounts.map(({ metadata }) => metadata.name), problems: [] })
  })
  await becomes(names)
}

async function becomes(names: string[]): Promise<void> {
  await vi.waitFor(() => expect(last()).toEqual(names), { interval: 5 })
}

describe('a folder', () => {
  it('that does not exist is refused with its name', async () => {
    const missing = join(root, 'missing')
    await expect(start(missing)).rejects.toThrow(FolderMissing)
    await expect(start(missing)).rejects.toThrow(missing)
    await expect(start(missing)).rejects.toThrow('SLUICE_CONFIG_DIR')
  })

  it('that is a file is refused', async () => {
    await writeFile(join(root, 'file'), '')
    await expect(start(join(root, 'file'))).rejects.toThrow(FolderMissing)
  })

  it('that is empty gives an empty snapshot at once', async () => {
    await start()
    expect(seen).toEqual([{ names: [], problems: [] }])
  })

  it('is read with its subfolders, without hidden names and other files', async () => {
    await mkdir(join(dir, 'sub/.hidden'), { recursive: true })
    await writeFile(join(dir, 'a.yaml'), account('a'))
    await writeFile(join(dir, 'sub/b.yml'), account('b'))
    await writeFile(join(dir, 'sub/c.json'), '{}')
    await writeFile(join(dir, 'sub/.hidden/d.yaml'), account('d'))
    await writeFile(join(dir, '.e.yaml'), account('e'))
    await writeFile(join(dir, 'README.md'), 'text')
    await start()
    expect(last()).toEqual(['a', 'b'])
    expect(seen[0]?.problems.map(({ file }) => file)).toEqual([join(dir, 'sub/c.json')])
  })

  it('survives a loop of symbolic links', async () => {
    await writeFile(join(dir, 'a.yaml'), account('a'))
    await symlink('.', join(dir, 'loop'))
    await start()
    expect(last()).toEqual(['a'])
  })
})

describe('an edit is seen', () => {
  beforeEach(async () => {
    await writeFile(join(dir, 'a.yaml'), account('a'))
  })

  it('when a file is written', async () => {
    await start()
    const names = ['a']
    for (const name of ['b', 'c', 'd']) {
      await writeFile(join(dir, `${name}.yaml`), account(name))
      names.push(name)
      await becomes([...names])
    }
  })

  it('when writes never cease', async () => {
    await start()
    let busy = true
    const writing = (async () => {
      for (let i = 0; busy; i++) await writeFile(join(dir, 'b.yaml'), `# ${i}\n${account('b')}`)
    })()
    try {
      await becomes(['a', 'b'])
    } finally {
      busy = false
      await writing
    }
  })

  it('when an editor renames a new file over the old one', async () => {
    await start()
    for (const name of ['b', 'c', 'd']) {
      await writeFile(join(dir, '.a.yaml.swp'), account(name))
      await rename(join(dir, '.a.yaml.swp'), join(dir, 'a.yaml'))
      await becomes([name])
    }
  })

  it('when a file is deleted', async () => {
    await start()
    await unlink(join(dir, 'a.yaml'))
    await becomes([])
  })

  it('in a new subfolder, also when that is replaced', async () => {
    await start()
    await mkdir(join(dir, 'sub'))
    await writeFile(join(dir, 'sub/b.yaml'), account('b'))
    await becomes(['a', 'b'])
    await rm(join(dir, 'sub'), { recursive: true })
    await becomes(['a'])
    await mkdir(join(dir, 'sub'))
    await writeFile(join(dir, 'sub/c.yaml'), account('c'))
    await becomes(['a', 'c'])
  })

  it('when a ConfigMap mount swaps its ..data link', async () => {
    const mount = join(root, 'mount')
    const fill = async (version: string, name: string) => {
      await mkdir(join(mount, version), { recursive: true })
      await writeFile(join(mount, version, 'a.yaml'), account(name))
    }
    const swap = async (version: string) => {
      await symlink(version, join(mount, '..data_tmp'))
      await rename(join(mount, '..data_tmp'), join(mount, '..data'))
    }
    await fill('..1', 'one')
    await swap('..1')
    await symlink('..data/a.yaml', join(mount, 'a.yaml'))
    await start(mount)
    expect(last()).toEqual(['one'])
    for (const [version, name] of [
      ['..2', 'two'],
      ['..3', 'three'],
    ] as const) {
      await fill(version, name)
      await swap(version)
      await becomes([name])
    }
  })

  it('when the folder is a link that is swapped, and in its new target', async () => {
    const link = join(root, 'link')
    const swap = async (target: string) => {
      await symlink(target, join(root, 'link_tmp'))
      await rename(join(root, 'link_tmp'), link)
    }
    await mkdir(join(root, 'next'))
    await writeFile(join(root, 'next/b.yaml'), account('b'))
    await swap('config')
    await start(link)
    await swap('next')
    await becomes(['b'])
    await writeFile(join(root, 'next/c.yaml'), account('c'))
    await becomes(['b', 'c'])
  })

  it('when a link above the folder is swapped', async () => {
    await mkdir(join(root, 'v1/config'), { recursive: true })
    await mkdir(join(root, 'v2/config'), { recursive: true })
    await writeFile(join(root, 'v2/config/b.yaml'), account('b'))
    await symlink('v1', join(root, 'current'))
    await start(join(root, 'current/config'))
    await symlink('v2', join(root, 'current_tmp'))
    await rename(join(root, 'current_tmp'), join(root, 'current'))
    await becomes(['b'])
  })

  it('without an event, by periodic reading', async () => {
    const outside = join(root, 'outside')
    await mkdir(outside)
    // A link to a link elsewhere: only the last folder of the chain is watched.
    await mkdir(join(root, 'between'))
    await writeFile(join(outside, 'one.yaml'), account('one'))
    await writeFile(join(outside, 'two.yaml'), account('two'))
    await symlink(join(outside, 'one.yaml'), join(root, 'between/link.yaml'))
    await symlink(join(root, 'between/link.yaml'), join(dir, 'b.yaml'))
    await start(dir, 50)
    await symlink(join(outside, 'two.yaml'), join(root, 'between/tmp'))
    await rename(join(root, 'between/tmp'), join(root, 'between/link.yaml'))
    await becomes(['a', 'two'])
  })
})

describe('a file that is empty', () => {
  beforeEach(async () => {
    await writeFile(join(dir, 'a.yaml'), account('a'))
  })

  it('keeps its text for a moment, in which it may be filled again', async () => {
    await start()
    await Promise.all([writeFile(join(dir, 'a.yaml'), ' \n'), writeFile(join(dir, 'b.yaml'), account('b'))])
    await becomes(['b'])
    expect(seen.map(({ names }) => names)).toContainEqual(['a', 'b'])
  })

  it('and stays empty loses its resources', async () => {
    await start()
    await writeFile(join(dir, 'a.yaml'), '')
    await becomes([])
  })

  it('at first is empty at once', async () => {
    await writeFile(join(dir, 'a.yaml'), '')
    await start()
    expect(last()).toEqual([])
  })
})

it('a snapshot is delivered again if the callback threw', async () => {
  await writeFile(join(dir, 'a.yaml'), account('a'))
  await accepts(['a'])
})

it('in the directory of a linked file, only that name is watched', async () => {
  const outside = join(root, 'outside')
  await mkdir(outside)
  await writeFile(join(outside, 'one.yaml'), account('one'))
  await symlink(join(outside, 'one.yaml'), join(dir, 'a.yaml'))
  const { watch } = await listFolder(dir)
  expect(watch.get(await realpath(outside))).toEqual(new Set(['one.yaml']))
  expect(watch.get(dir)).toBeUndefined()
  await start()
  await writeFile(join(outside, 'one.yaml'), account('two'))
  await becomes(['two'])
})

describe('the last good state stays', () => {
  it('while the folder is gone, and follows when it is back', async () => {
    await writeFile(join(dir, 'a.yaml'), account('a'))
    await start()
    await rename(dir, join(root, 'away'))
    await vi.waitFor(() => expect(logged.join()).toContain('its last resources stay in force'))
    expect(last()).toEqual(['a'])
    await mkdir(dir)
    await writeFile(join(dir, 'b.yaml'), account('b'))
    await becomes(['b'])
    await writeFile(join(dir, 'c.yaml'), account('c'))
    await becomes(['b', 'c'])
  })

  it('while an edit is broken, and the problem is logged once', async () => {
    await writeFile(join(dir, 'a.yaml'), account('a'))
    await start(dir, 20)
    await writeFile(join(dir, 'a.yaml'), account('a', '{ disabled: maybe }'))
    await vi.waitFor(() => expect(seen.at(-1)?.problems).toHaveLength(1))
    expect(last()).toEqual(['a'])
    await writeFile(join(dir, 'b.yaml'), account('b'))
    await becomes(['a', 'b'])
    const complaint = (message: string) => message.includes('spec.disabled must be true or false')
    expect(logged.filter(complaint)).toHaveLength(1)
    await writeFile(join(dir, 'a.yaml'), account('a'))
    await vi.waitFor(() => expect(seen.at(-1)?.problems).toEqual([]))
    await writeFile(join(dir, 'a.yaml'), account('a', '{ disabled: maybe }'))
    await vi.waitFor(() => expect(logged.filter(complaint)).toHaveLength(2))
  })

  it('and nothing is delivered when the content is the same', async () => {
    const readings = vi.spyOn(DirectoryWatch.prototype, 'follow')
    await writeFile(join(dir, 'a.yaml'), account('a'))
    await start(dir, 10)
    await vi.waitFor(() => expect(readings.mock.calls.length).toBeGreaterThan(4))
    expect(seen).toHaveLength(1)
    readings.mockRestore()
  })

  it('after stop, nothing is delivered', async () => {
    await start(dir, 10)
    await source?.stop()
    const count = seen.length
    await writeFile(join(dir, 'a.yaml'), account('a'))
    await start(dir, 10)
    expect(last()).toEqual(['a'])
    expect(seen.length).toBe(count + 1)
  })
})
