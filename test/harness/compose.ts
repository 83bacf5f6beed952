/**
 * Starts the services of examples/compose without containers: the same commands with the same environment, as processes. A
 * service has a loopback address of its own instead of its name; mounted folders and volumes are folders of the test.
 * Unproven remain the images, the users in them and the restrictions of containers.
 */
import { spawnSync } from 'node:child_process'
import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { parse } from 'yaml'
import { z } from 'zod'
import { endProcess, type ManagedProcess, startProcess } from '../../tools/cluster/process.ts'
import { ROOT } from './program.ts'

const FOLDER = join(ROOT, 'examples/compose')
const NODE = '/nodejs/bin/node'

const ignored = z.unknown().optional()

/** Strict: a field that this harness does not know must be thought about. */
const service = z.strictObject({
  image: z.string(),
  entrypoint: z.array(z.string()).optional(),
  command: z.array(z.string()),
  environment: z.record(z.string(), z.string()).default({}),
  volumes: z.array(z.string()).default([]),
  secrets: z.array(z.string()).default([]),
  healthcheck: z.looseObject({ test: z.array(z.string()) }).optional(),
  ports: z.array(z.string().regex(/^127\.0\.0\.1:\d+:\d+$/)).default([]),
  restart: z.literal('unless-stopped'),
  stop_grace_period: z.string().optional(),
  ...{ read_only: ignored, cap_drop: ignored, security_opt: ignored, depends_on: ignored },
})
type Service = z.output<typeof service>
const composeFile = z.looseObject({
  services: z.record(z.string(), service),
  secrets: z.record(z.string(), z.strictObject({ file: z.string() })),
  volumes: z.record(z.string(), z.null()),
})

export interface RunningService {
  process: ManagedProcess
  address: string
  output(): string
}

export interface Composed {
  services: Record<string, RunningService>
  /** What is written in .env. */
  env: Record<string, string>
  /** The folder of resources. */
  config: string
  /** The folder of a volume. */
  volume(name: string): string
  stop(): Promise<void>
}

export async function composeUp(): Promise<Composed> {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-compose-'))
  const project = join(dir, 'project')
  cpSync(FOLDER, project, { recursive: true, filter: (path) => !/\.env$|secrets$/.test(path) })
  prepare(project)
  const env = variablesIn(readFileSync(join(project, '.env'), 'utf8'))
  const text = filledIn(readFileSync(join(project, 'compose.yaml'), 'utf8'), env)
  const { services, secrets, volumes } = composeFile.parse(parse(text, { merge: true }))
  // Another network for each run; 127.0.0.x is for everybody.
  const network = `127.${(process.pid % 250) + 2}.${Date.now() % 250}`
  const addresses = new Map(Object.keys(services).map((name, i) => [name, `${network}.${i + 1}`]))
  const running: Record<string, RunningService> = {}

  for (const volume of Object.keys(volumes)) mkdirSync(join(dir, volume))
  const start = async (name: string, wanted: Service): Promise<void> => {
    const address = addresses.get(name) ?? ''
    const mounts = [
      ...wanted.volumes.map((volume): [string, string] => {
        const [source = '', target = ''] = volume.split(':')
        return [target, source.startsWith('.') ? copied(join(FOLDER, source), source) : join(dir, source)]
      }),
      ...wanted.secrets.map((secret): [string, string] => [
        `/run/secrets/${secret}`,
        join(project, secrets[secret]?.file ?? ''),
      ]),
    ]
    const mapped = (given: string) =>
      given
        .replace(
          new RegExp(`(?<=^|[ ="])(${mounts.map(([target]) => target).join('|') || '$.'})`, 'gm'),
          (target) => {
            return mounts.find(([known]) => known === target)?.[1] ?? target
          },
        )
        .replace(
          new RegExp(`(?<![\\w.-])(${[...addresses.keys()].join('|')})(?=:\\d)`, 'g'),
          (host) => addresses.get(host) ?? host,
        )
        .replace(NODE, process.execPath)
    for (const [target, source] of mounts)
      if (wanted.volumes.some((volume) => volume.startsWith('.') && volume.includes(`:${target}`)))
        for (const file of filesIn(source)) writeFileSync(file, mapped(readFileSync(file, 'utf8')))
    const [command = '', ...args] = commandOf(wanted, address, mounts).map(mapped)
    const settings = Object.entries(wanted.environment).map(([key, value]) => [key, mapped(value)])
    const check = wanted.healthcheck?.test.slice(1).map((part) => mapped(part).replace('127.0.0.1', address))
    const logs = join(dir, 'log')
    const child = await startProcess(
      {
        ...{ name, command, args, cwd: ROOT },
        env: { ...Object.fromEntries(settings), SLUICE_HOST: address },
        ready: async () => check === undefined || spawnSync(check[0] ?? '', check.slice(1)).status === 0,
      },
      logs,
    )
    const output = () => readFileSync(join(logs, `${name}.log`), 'utf8')
    running[name] = { process: child, address, output }
  }
  /** A bind mount from outside the project is copied, too, because the test writes addresses into it. */
  const copied = (path: string, source: string) => {
    if (source.startsWith('./')) return join(project, source)
    const target = join(dir, basename(path))
    cpSync(path, target)
    return target
  }
  const stop = async () => {
    await Promise.all(Object.values(running).map(({ process: one }) => endProcess(one, 'SIGTERM', 10_000)))
    rmSync(dir, { recursive: true, force: true })
  }
  try {
    await Promise.all(Object.entries(services).map(([name, wanted]) => start(name, wanted)))
    return {
      services: running,
      env,
      config: join(project, 'config'),
      volume: (name) => join(dir, name),
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** The first commands of the README, without those for containers. */
function prepare(project: string): void {
  const readme = readFileSync(join(project, 'README.md'), 'utf8')
  const [first = ''] = /(?:^ {4}.*\n)+/m.exec(readme) ?? []
  const script = first.replace(/^ {4}docker .*$/gm, '')
  const { status, stderr } = spawnSync('bash', ['-ec', script], { cwd: project, encoding: 'utf8' })
  if (status !== 0) throw new Error(`the commands of the README fail:\n${stderr}`)
}

const variablesIn = (text: string) =>
  Object.fromEntries(text.split('\n').flatMap((line) => (/=/.test(line) ? [line.split(/=(.*)/s, 2)] : [])))

/** Replaces `${NAME:?message}` and `${NAME:-default}`, as Compose does. */
function filledIn(text: string, env: Record<string, string>): string {
  return text.replace(/^(\s*#.*)|\$\{(\w+)(:[?-])?([^}]*)\}/gm, (whole, comment, name, sign, more) => {
    if (comment !== undefined) return whole
    const value = env[name] ?? (sign === ':-' ? more : undefined)
    if (value === undefined) throw new Error(`${name} is not in .env`)
    return value
  })
}

function filesIn(path: string): string[] {
  return statSync(path).isFile() ? [path] : globSync(`${path}/**/*`).filter((each) => statSync(each).isFile())
}

/** What the image of a service starts. */
function commandOf(
  { image, entrypoint, command }: Service,
  address: string,
  mounts: [string, string][],
): string[] {
  if (/\/(redis|valkey):/.test(image)) {
    const data = mounts.find(([target]) => target === '/data')?.[1] ?? ''
    return ['redis-server', ...command, '--bind', address, '--dir', data]
  }
  if (/\/prometheus:/.test(image)) return ['prometheus', ...command, `--web.listen-address=${address}:9090`]
  if (image !== 'sluice') throw new Error(`this harness does not know the image ${image}`)
  const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8')
  const own = z.array(z.string()).parse(JSON.parse(/^ENTRYPOINT (.*)$/m.exec(dockerfile)?.[1] ?? ''))
  // The checkout has the TypeScript of what the image has as JavaScript.
  const program = entrypoint ?? own.map((word) => word.replace(/^dist\/(.*)\.js$/, '$1.ts'))
  return [...program, ...command.map((part) => part.replace('0.0.0.0', address))]
}
