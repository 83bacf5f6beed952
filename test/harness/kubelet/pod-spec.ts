/** What the stand-in reads of a Pod. Fields that it does not know have no effect; its header lists them. */
import { z } from 'zod'

const keyRef = z.object({ name: z.string(), key: z.string(), optional: z.boolean().default(false) })
const items = z.array(z.object({ key: z.string(), path: z.string(), mode: z.number().optional() })).optional()
const fieldRef = z.object({ fieldPath: z.string() })
const fields = z.array(z.object({ path: z.string(), fieldRef: fieldRef.optional() })).optional()
const nameless = { items, optional: z.boolean().default(false) }
const portName = z.union([z.string(), z.number()])

const envVar = z.object({
  name: z.string(),
  value: z.string().optional(),
  valueFrom: z
    .object({
      fieldRef: fieldRef.optional(),
      configMapKeyRef: keyRef.optional(),
      secretKeyRef: keyRef.optional(),
    })
    .optional(),
})

const envFrom = z.object({
  prefix: z.string().default(''),
  configMapRef: z.object({ name: z.string(), optional: z.boolean().default(false) }).optional(),
  secretRef: z.object({ name: z.string(), optional: z.boolean().default(false) }).optional(),
})

/** One action of a probe or a lifecycle hook. */
const action = {
  exec: z.object({ command: z.array(z.string()) }).optional(),
  httpGet: z
    .object({
      path: z.string().default('/'),
      port: portName,
      host: z.string().optional(),
      httpHeaders: z.array(z.object({ name: z.string(), value: z.string() })).default([]),
    })
    .optional(),
  tcpSocket: z.object({ port: portName, host: z.string().optional() }).optional(),
  sleep: z.object({ seconds: z.number() }).optional(),
}
const hook = z.object(action)
export type Action = z.output<typeof hook>

const probe = z.object({
  ...action,
  initialDelaySeconds: z.number().default(0),
  periodSeconds: z.number().default(10),
  timeoutSeconds: z.number().default(1),
  successThreshold: z.number().default(1),
  failureThreshold: z.number().default(3),
})
export type Probe = z.output<typeof probe>

const securityContext = z.object({
  runAsUser: z.number().optional(),
  runAsGroup: z.number().optional(),
  runAsNonRoot: z.boolean().optional(),
  readOnlyRootFilesystem: z.boolean().default(false),
})

const container = z.object({
  name: z.string(),
  image: z.string(),
  command: z.array(z.string()).default([]),
  args: z.array(z.string()).optional(),
  workingDir: z.string().optional(),
  env: z.array(envVar).default([]),
  envFrom: z.array(envFrom).default([]),
  ports: z.array(z.object({ name: z.string().optional(), containerPort: z.number() })).default([]),
  volumeMounts: z
    .array(
      z.object({
        name: z.string(),
        mountPath: z.string(),
        subPath: z.string().optional(),
        readOnly: z.boolean().default(false),
      }),
    )
    .default([]),
  startupProbe: probe.optional(),
  livenessProbe: probe.optional(),
  readinessProbe: probe.optional(),
  lifecycle: z.object({ preStop: hook.optional(), postStart: hook.optional() }).default({}),
  securityContext: securityContext.prefault({}),
  /** "Always" on an init container makes it a sidecar. */
  restartPolicy: z.string().optional(),
})
export type Container = z.output<typeof container>

const projected = z.object({
  serviceAccountToken: z
    .object({
      path: z.string(),
      audience: z.string().optional(),
      expirationSeconds: z.number().default(3600),
    })
    .optional(),
  configMap: z.object({ name: z.string(), ...nameless }).optional(),
  secret: z.object({ name: z.string(), ...nameless }).optional(),
  downwardAPI: z.object({ items: fields }).optional(),
})
export type Projected = z.output<typeof projected>

const defaultMode = z.number().default(0o644)
const volume = z.object({
  name: z.string(),
  emptyDir: z.looseObject({}).optional(),
  configMap: z.object({ name: z.string(), defaultMode, ...nameless }).optional(),
  secret: z.object({ secretName: z.string(), defaultMode, ...nameless }).optional(),
  projected: z.object({ sources: z.array(projected), defaultMode }).optional(),
  downwardAPI: z.object({ items: fields, defaultMode }).optional(),
  persistentVolumeClaim: z.object({ claimName: z.string() }).optional(),
})
export type Volume = z.output<typeof volume>

export const podSchema = z.object({
  metadata: z.object({
    name: z.string(),
    namespace: z.string(),
    uid: z.string(),
    resourceVersion: z.string(),
    labels: z.record(z.string(), z.string()).default({}),
    annotations: z.record(z.string(), z.string()).default({}),
    deletionTimestamp: z.string().optional(),
    deletionGracePeriodSeconds: z.number().optional(),
  }),
  spec: z.object({
    nodeName: z.string().optional(),
    serviceAccountName: z.string().default('default'),
    restartPolicy: z.enum(['Always', 'OnFailure', 'Never']).default('Always'),
    terminationGracePeriodSeconds: z.number().default(30),
    securityContext: z
      .object({
        runAsUser: z.number().optional(),
        runAsGroup: z.number().optional(),
        fsGroup: z.number().optional(),
      })
      .default({}),
    initContainers: z.array(container).default([]),
    containers: z.array(container),
    volumes: z.array(volume).default([]),
  }),
  status: z.object({ phase: z.string().default('Pending') }).prefault({}),
})
export type Pod = z.output<typeof podSchema>

/** The number of a port that a probe or a Service names. */
export function portNumber(port: string | number, containers: readonly Container[]): number | undefined {
  if (typeof port === 'number') return port
  return containers.flatMap(({ ports }) => ports).find(({ name }) => name === port)?.containerPort
}
