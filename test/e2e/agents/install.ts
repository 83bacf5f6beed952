/**
 * The agents that these tests run: Codex and Claude Code, in the versions of npm/package-lock.json. They are hundreds of
 * megabytes and not part of the project, so `make agents` installs them into a cache folder whose name depends on the lock file, and
 * only there do these tests run.
 */
import { spawnSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

const NPM = join(import.meta.dirname, 'npm')
const LOCK = readFileSync(join(NPM, 'package-lock.json'), 'utf8')
/** Platform and architecture, as in the packages' names. */
const SYSTEM = `${process.platform}-${process.arch}`
const TRIPLE: Record<string, string> = {
  'linux-x64': 'x86_64-unknown-linux-musl',
  'linux-arm64': 'aarch64-unknown-linux-musl',
  'darwin-x64': 'x86_64-apple-darwin',
  'darwin-arm64': 'aarch64-apple-darwin',
}

/** The programs themselves: their launch scripts need Node and the install scripts, which are skipped. */
const PROGRAMS = {
  codex: `@openai/codex-${SYSTEM}/vendor/${TRIPLE[SYSTEM]}/bin/codex`,
  claude: `@anthropic-ai/claude-code-${SYSTEM}/claude`,
} as const

export type AgentName = keyof typeof PROGRAMS

/** Path of an agent's program, installed or not. */
export const agent = (name: AgentName): string => join(cacheFolder(), 'node_modules', PROGRAMS[name])

function cacheFolder(): string {
  const root =
    process.env.SLUICE_TEST_BINARIES ??
    join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'sluice')
  return join(root, `agents-${hash('sha256', LOCK).slice(0, 12)}`)
}

function install(): void {
  const folder = cacheFolder()
  if ((Object.keys(PROGRAMS) as AgentName[]).every((name) => existsSync(agent(name)))) return
  mkdirSync(join(folder, '..'), { recursive: true })
  const unfinished = mkdtempSync(`${folder}.`)
  try {
    for (const name of ['package.json', 'package-lock.json'])
      copyFileSync(join(NPM, name), join(unfinished, name))
    console.error(`Installing Codex and Claude Code into ${folder}: once, some 800 MB`)
    const { status } = spawnSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
      cwd: unfinished,
      stdio: 'inherit',
    })
    if (status !== 0) throw new Error('npm could not install the agents')
    rmSync(folder, { recursive: true, force: true })
    renameSync(unfinished, folder)
  } finally {
    rmSync(unfinished, { recursive: true, force: true })
  }
  for (const name of Object.keys(PROGRAMS) as AgentName[])
    if (!existsSync(agent(name))) throw new Error(`${name} is not where it should be: ${agent(name)}`)
}

if (import.meta.main) install()
