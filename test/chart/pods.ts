/**
 * The pods of an installed release as processes on loopback: the environment that the API server has for them, Secrets
 * included, the chart's Redis configuration, and for the controller a token of its own ServiceAccount. Only addresses
 * and paths differ from a node.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { type Kubectl, mustKubectl } from '../../tools/cluster/kubectl.ts'
import { until } from '../harness/gateway.ts'
import { endProgram, freePort, type Program, startProgram, startSluice } from '../harness/program.ts'
import { accessOf } from './service-account.ts'

export interface Pod {
  name: string
  /** Undefined for a controller. */
  base: string | undefined
  admin: string
  program: Program
}

export interface Pods {
  controllers: Pod[]
  proxies: Pod[]
  redis: Program
  stop(): Promise<void>
}

interface Cluster {
  url: string
  kubeconfig: string
  tls: { ca: string }
  kubectl: Kubectl
}

const deployment = z.object({
  spec: z.object({
    template: z.object({
      spec: z.object({
        serviceAccountName: z.string(),
        containers: z.tuple([
          z.object({
            args: z.array(z.string()),
            env: z.array(
              z.object({
                name: z.string(),
                value: z.string().optional(),
                valueFrom: z
                  .object({
                    fieldRef: z.object({ fieldPath: z.string() }).optional(),
                    secretKeyRef: z.object({ name: z.string(), key: z.string() }).optional(),
                  })
                  .optional(),
              }),
            ),
          }),
        ]),
      }),
    }),
  }),
})

/** Starts Redis, two controllers and two proxies of release `sluice`; resolves when all are ready. */
export async function startPods(cluster: Cluster, namespace: string): Promise<Pods> {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-pods-'))
  const running: Program[] = []
  const stop = async () => {
    for (const program of running.splice(0).reverse()) await endProgram(program)
    rmSync(dir, { recursive: true, force: true })
  }
  const get = async (what: string) =>
    JSON.parse(await mustKubectl(cluster.kubectl, 'get', what, '--namespace', namespace, '--output', 'json'))
  const entry = async (secret: string, key: string) => {
    const { data } = z.object({ data: z.record(z.string(), z.string()) }).parse(await get(`secret/${secret}`))
    return Buffer.from(data[key] ?? '', 'base64').toString()
  }

  const redisPort = await freePort()
  const startRedis = async () => {
    const configuration = (await entry('sluice-redis', 'redis.conf'))
      .replace('port 6379', `port ${redisPort}`)
      .replace('dir /data', `dir ${dir}`)
      .replace('bind * -::*', 'bind 127.0.0.1')
    const file = join(dir, 'redis.conf')
    writeFileSync(file, configuration, { mode: 0o600 })
    const redis = startProgram('redis-server', [file])
    running.push(redis)
    await redis.printed(/Ready to accept connections/)
    return redis
  }

  const startPod = async (component: string, index: number): Promise<Pod> => {
    const { serviceAccountName, containers } = deployment.parse(await get(`deployment/sluice-${component}`))
      .spec.template.spec
    const name = `sluice-${component}-${index}`
    const fields: Record<string, string> = { 'metadata.name': name, 'metadata.namespace': namespace }
    const env: Record<string, string> = {}
    for (const { name, value, valueFrom } of containers[0].env) {
      const secret = valueFrom?.secretKeyRef
      env[name] =
        value ??
        (secret === undefined
          ? (fields[valueFrom?.fieldRef?.fieldPath ?? ''] ?? '')
          : await entry(secret.name, secret.key))
    }
    const keys = join(dir, 'keys')
    writeFileSync(keys, await entry('sluice-sealing', 'keys'), { mode: 0o600 })
    const [port, adminPort] = [await freePort(), await freePort()]
    const program = startSluice(
      {
        ...env,
        HOME: dir,
        SLUICE_HOST: '127.0.0.1',
        SLUICE_PORT: `${port}`,
        SLUICE_ADMIN_PORT: `${adminPort}`,
        SLUICE_SEALING_KEYS_FILE: keys,
        SLUICE_REDIS_URL: (env.SLUICE_REDIS_URL ?? '').replace(/@.*/, `@127.0.0.1:${redisPort}`),
        // A proxy has no token, and nothing that leads to the API server.
        ...(component === 'controller' && {
          KUBECONFIG: (await accessOf(cluster, namespace, serviceAccountName)).kubeconfig,
        }),
      },
      containers[0].args,
    )
    running.push(program)
    const admin = `http://127.0.0.1:${adminPort}`
    return { name, base: component === 'proxy' ? `http://127.0.0.1:${port}` : undefined, admin, program }
  }

  try {
    const redis = await startRedis()
    const controllers = [await startPod('controller', 0), await startPod('controller', 1)]
    const proxies = [await startPod('proxy', 0), await startPod('proxy', 1)]
    for (const pod of [...controllers, ...proxies]) await ready(pod)
    return { controllers, proxies, redis, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function ready({ name, admin, program }: Pod): Promise<void> {
  await until(
    async () => {
      if (program.child.exitCode !== null) throw new Error(`${name} ended:\n${program.output()}`)
      return fetch(`${admin}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      )
    },
    `${name} to be ready`,
    20_000,
  ).catch((error: unknown) => {
    throw new Error(`${error}\n${program.output()}`)
  })
}
