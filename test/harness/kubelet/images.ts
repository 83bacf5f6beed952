/**
 * The images that the stand-in knows, as programs of this machine: ours is the checkout, started as the Dockerfile says;
 * Redis is the installed redis-server. Both listen on the address of the pod, because all pods share one network.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { ROOT } from '../program.ts'

export interface Image {
  entrypoint: string[]
  command: string[]
  workingDir: string
  env: Record<string, string>
  /** Undefined: root. */
  user: number | undefined
  /** Scripts of the image, in its folder /image/bin, which is first on the path. */
  scripts: Record<string, string>
}

export type Images = (image: string, podIP: string) => Image | undefined

const PATH = '/image/bin:/usr/local/bin:/usr/bin:/bin'

/** Repositories of the chart's defaults; a test adds its own. */
export function imagesOf(ours: readonly string[]): Images {
  return (image, podIP) => {
    const repository = image.replace(/@.*$/, '').replace(/:[^/]*$/, '')
    if (ours.includes(repository)) return sluiceImage(podIP)
    if (/(?:^|\/)(?:valkey|redis)$/.test(repository)) return redisImage(podIP)
    return undefined
  }
}

const words = z.array(z.string())

/** The last stage of the Dockerfile. */
function sluiceImage(podIP: string): Image {
  const stage =
    readFileSync(join(ROOT, 'Dockerfile'), 'utf8')
      .split(/^FROM /m)
      .at(-1) ?? ''
  const instruction = (name: string) => {
    const found = new RegExp(`^${name} (.*)$`, 'm').exec(stage)?.[1]
    if (found === undefined) throw new Error(`the Dockerfile has no ${name}`)
    return found
  }
  const env = [...stage.matchAll(/^ENV (\w+)=(\S+)$/gm)].map(([, name = '', value = '']) => [name, value])
  return {
    // The checkout has the TypeScript of what the image has as JavaScript.
    entrypoint: words
      .parse(JSON.parse(instruction('ENTRYPOINT')))
      .map((word) => word.replace(/^dist\/(.*)\.js$/, '$1.ts')),
    command: words.parse(JSON.parse(instruction('CMD'))),
    workingDir: instruction('WORKDIR'),
    env: { PATH, ...Object.fromEntries(env), SLUICE_HOST: podIP },
    user: Number(instruction('USER').split(':')[0]),
    scripts: {},
  }
}

/** The entrypoint of the official images adds the server's name if the first argument is a file or an option. */
function redisImage(podIP: string): Image {
  const entrypoint = [
    '#!/bin/sh',
    'case "$1" in *.conf|-*) set -- redis-server "$@" ;; esac',
    `case "$1" in redis-server|valkey-server) shift; exec ${programPath('redis-server')} "$@" --bind ${podIP} ;; esac`,
    'exec "$@"',
  ]
  // A client in the pod connects to localhost.
  const client = ['#!/bin/sh', `exec ${programPath('redis-cli')} -h ${podIP} "$@"`]
  const [server, cli] = [entrypoint, client].map((lines) => `${lines.join('\n')}\n`)
  return {
    entrypoint: ['/image/bin/entrypoint'],
    command: ['redis-server'],
    workingDir: '/data',
    env: { PATH },
    user: undefined,
    scripts: { entrypoint: server ?? '', 'redis-cli': cli ?? '', 'valkey-cli': cli ?? '' },
  }
}

function programPath(name: string): string {
  const { stdout } = spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' })
  const path = stdout.trim()
  if (path === '') throw new Error(`${name} is missing (Debian: apt-get install redis-server)`)
  return path
}
