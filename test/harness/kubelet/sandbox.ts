/**
 * A container as a process with its own mounts and root: the system's programs and the checkout to read, the volumes at
 * their paths, its own /etc/hosts and /tmp. As root the process also has the user, the groups and the lack of rights
 * that the pod's spec gives it. It shares network, processes and limits with the machine.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { lstatSync, mkdirSync, readlinkSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../program.ts'
import type { Image } from './images.ts'

export interface SandboxSpec {
  /** Folder of this container on the machine. */
  dir: string
  image: Image
  /** The whole command line. */
  command: string[]
  workingDir: string
  env: Record<string, string>
  mounts: { from: string; to: string; readOnly: boolean }[]
  hostsFile: string
  user: number | undefined
  groups: number[]
  readOnlyRoot: boolean
}

const IS_ROOT = process.getuid?.() === 0
const UNSHARE = [...(IS_ROOT ? [] : ['--map-root-user']), '--mount', '--propagation', 'private']

/** Why this machine cannot run sandboxes; undefined if it can. */
export function sandboxProblem(): string | undefined {
  const script = 'mount -t tmpfs tmpfs /mnt && mkdir /mnt/a && mount --bind /usr /mnt/a'
  const { error, status, stderr } = spawnSync('unshare', [...UNSHARE, 'sh', '-euc', script], {
    encoding: 'utf8',
  })
  if (status === 0) return undefined
  return `this machine allows no mount namespaces: ${error?.message ?? stderr.trim()}`
}

/** Starts the container's process as the leader of its own group. */
export function startSandbox(spec: SandboxSpec): ChildProcess {
  mkdirSync(spec.dir, { recursive: true })
  const script = join(spec.dir, 'start.sh')
  writeFileSync(script, scriptOf(spec), { mode: 0o700 })
  return spawn('unshare', [...UNSHARE, 'sh', '-eu', script, ...inside(spec, spec.command)], {
    cwd: '/',
    env: spec.env,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
}

/** Runs a command in the container of a process; returns its exit code, or undefined after the time limit. */
export function execInSandbox(
  pid: number,
  spec: SandboxSpec,
  command: string[],
  timeoutMs: number,
): Promise<number | undefined> {
  const enter = ['--target', `${pid}`, ...(IS_ROOT ? [] : ['--user', '--preserve-credentials'])]
  const child = spawn('nsenter', [...enter, '--mount', '--root', ...inside(spec, command)], {
    cwd: '/',
    env: spec.env,
    stdio: 'ignore',
    detached: true,
  })
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
      resolve(undefined)
    }, timeoutMs)
    const end = (code: number | undefined) => {
      clearTimeout(timer)
      resolve(code)
    }
    child.on('error', () => end(127))
    child.on('exit', (code) => end(code ?? 137))
  })
}

/** A command of the container's root, in its folder and with its rights. */
function inside({ workingDir, user, groups }: SandboxSpec, command: string[]): string[] {
  const ids = user === undefined ? [] : ['--reuid', `${user}`, '--regid', `${groups[0] ?? user}`]
  const rights = ['--bounding-set=-all', '--inh-caps=-all', '--no-new-privs']
  const more = groups.length === 0 ? ['--clear-groups'] : ['--groups', groups.join(',')]
  return [
    ...['/usr/bin/env', `--chdir=${workingDir}`],
    ...(IS_ROOT ? ['/usr/bin/setpriv', ...ids, ...more, ...rights] : []),
    ...command,
  ]
}

/** Mounts the root, then becomes the command. */
function scriptOf({ dir, image, mounts, hostsFile, workingDir, readOnlyRoot }: SandboxSpec): string {
  const root = join(dir, 'root')
  mkdirSync(root, { recursive: true })
  const at = (path: string) => quote(join(root, path))
  const lines = [`mount -t tmpfs -o mode=755 tmpfs ${quote(root)}`]
  const folder = (path: string) => lines.push(`mkdir -p ${at(path)}`)
  const bind = (from: string, to: string, readOnly: boolean) => {
    lines.push(`mount --rbind ${quote(from)} ${at(to)}`)
    if (readOnly) lines.push(`mount -o remount,bind,ro ${at(to)}`)
  }
  for (const path of ['/usr', '/bin', '/sbin', '/lib', '/lib64']) {
    const found = lstatSync(path, { throwIfNoEntry: false })
    if (found?.isSymbolicLink()) lines.push(`ln -s ${quote(readlinkSync(path))} ${at(path)}`)
    else if (found !== undefined) {
      folder(path)
      bind(path, path, true)
    }
  }
  for (const path of ['/proc', '/dev']) {
    folder(path)
    bind(path, path, false)
  }
  lines.push(`mkdir -m 1777 ${at('/tmp')}`, `mkdir -p ${at('/etc')} ${at('/image/bin')} ${at('/nodejs/bin')}`)
  for (const path of ['/etc/passwd', '/etc/group', '/etc/nsswitch.conf', '/etc/ld.so.cache'])
    lines.push(`[ ! -e ${path} ] || cp ${path} ${at(path)}`)
  // No name server: a name is that of a Service of the cluster, or unknown.
  lines.push(`touch ${at('/etc/resolv.conf')} ${at('/etc/hosts')} ${at('/nodejs/bin/node')}`)
  bind(hostsFile, '/etc/hosts', true)
  bind(process.execPath, '/nodejs/bin/node', true)
  folder('/app')
  bind(ROOT, '/app', true)
  // In a git worktree the packages may be a link to those of another folder.
  const packages = realpathSync(join(ROOT, 'node_modules'))
  if (packages !== join(ROOT, 'node_modules')) {
    folder(packages)
    bind(packages, packages, true)
  }
  for (const [name, text] of Object.entries(image.scripts))
    lines.push(
      `printf %s ${quote(text)} > ${at(`/image/bin/${name}`)}`,
      `chmod 755 ${at(`/image/bin/${name}`)}`,
    )
  folder(workingDir)
  for (const { from, to, readOnly } of mounts) {
    // A file, as a subPath may name one.
    const create = lstatSync(from).isDirectory() ? 'mkdir -p' : 'install -D /dev/null'
    lines.push(`[ -e ${at(to)} ] || ${create} ${at(to)}`)
    bind(from, to, readOnly)
  }
  if (readOnlyRoot) lines.push(`mount -o remount,bind,ro ${quote(root)}`)
  lines.push(`exec /usr/sbin/chroot ${quote(root)} "$@"`)
  return `${lines.join('\n')}\n`
}

const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`
