import type { ModelRouteSpec, Resource } from '../../contract/api/index.ts'
import type { ChannelType } from '../../contract/apis.ts'
import { CHANNEL_TYPE_FACTS } from '../../contract/channel-types.ts'
import { parseDuration } from '../../contract/duration.ts'
import { ENDPOINT_NAMES, type EndpointName, endpointsOf } from '../../contract/endpoints.ts'
import { RETRYABLE_CLASSES } from '../../contract/failures.ts'
import { priceVersion } from '../../contract/money.ts'
import { featuresOf } from '../../contract/profiles.ts'
import type { RouteRecord, TargetRecord } from '../../contract/table/records.ts'
import { present } from '../../kit/present.ts'
import type { ObjectStatus, Snapshot } from '../snapshot.ts'
import type { Channels } from './channels.ts'
import { byAge, condition, type Finding, type Findings, judge, noFindings } from './conditions.ts'
import { compilePrice, pricesAnswers } from './prices.ts'

export interface Routes {
  records: { namespace: string; record: RouteRecord }[]
  statuses: ObjectStatus[]
}

export function compileRoutes(snapshot: Snapshot, channels: Channels): Routes {
  const routes: Routes = { records: [], statuses: [] }
  /** Name of the route that has a model, by "namespace model". */
  const claimed = new Map<string, string>()
  for (const resource of [...snapshot.modelRoutes].sort(byAge)) {
    const { metadata, spec } = resource
    const claim = `${metadata.namespace} ${spec.model}`
    const findings = noFindings()
    const owner = claimed.get(claim)
    if (owner !== undefined) findings.refusals.push(conflict(spec.model, owner))
    const record = compileRoute(resource, channels, findings)
    const inForce = findings.refusals.length === 0
    if (inForce) {
      claimed.set(claim, metadata.name)
      routes.records.push({ namespace: metadata.namespace, record })
    }
    routes.statuses.push(routeStatus(resource, record, channels, findings))
  }
  return routes
}

function conflict(model: string, owner: string): Finding {
  const message = `the ModelRoute ${owner} is older and already has the model ${model}; rename the model or remove one of the two routes`
  return { reason: 'Conflicted', message }
}

function compileRoute(
  { metadata, spec }: Resource<ModelRouteSpec>,
  channels: Channels,
  findings: Findings,
): RouteRecord {
  const { listed, maxOutputTokens, contextLength, outputLimit } = spec
  const targets: RouteRecord['targets'] = []
  spec.channels.forEach(({ name, model, priority, weight, profile, cost }, index) => {
    const fault = channels.fault(metadata.namespace, name)
    if (fault !== undefined)
      findings.missing.push({ ...fault, message: `spec.channels[${index}]: ${fault.message}` })
    const channel = channels.records.get(`${metadata.namespace}/${name}`)
    if (channel === undefined) return
    const charged = cost && compilePrice(cost, findings, `spec.channels[${index}].cost`)
    targets.push({
      channel: name,
      ...present({ model, cost: charged }),
      priority,
      weight,
      ...(profile !== undefined && {
        profile,
        features: featuresOf(channel.record.type, profile, channel.overrides),
      }),
    })
  })
  const compiled = spec.price === undefined ? undefined : compilePrice(spec.price, findings)
  const imagesOnly = answersImagesOnly(metadata.namespace, targets, channels)
  const price = spec.price !== undefined && pricesAnswers(spec.price, imagesOnly) ? compiled : undefined
  return {
    name: metadata.name,
    model: spec.model,
    created: Math.floor(metadata.createdAt / 1000),
    ...present({ listed }),
    targets,
    ...(targets.length > 0 &&
      hasImagesChannelsOnly(metadata.namespace, spec, channels) && { picturesOnly: true }),
    affinity: {
      mode: spec.affinity?.mode ?? 'None',
      ttlMs: parseDuration(spec.affinity?.ttl ?? '1h'),
    },
    retry: {
      attempts: spec.retry?.attempts ?? 3,
      on: [...(spec.retry?.classes ?? RETRYABLE_CLASSES)],
      ...(spec.retry?.perTryTimeout !== undefined && {
        perTryTimeoutMs: parseDuration(spec.retry.perTryTimeout),
      }),
    },
    conversion: { unsupported: spec.conversion?.unsupported ?? 'Drop' },
    rewriteModel: spec.rewriteModel ?? false,
    ...present({
      maxOutputTokens,
      contextLength,
      outputLimit,
      price,
      priceVersion: price && priceVersion(price),
    }),
    free: spec.free ?? false,
    display: { ...spec.display },
  }
}

function routeStatus(
  resource: Resource<ModelRouteSpec>,
  record: RouteRecord,
  channels: Channels,
  findings: Findings,
): ObjectStatus {
  const { metadata, spec } = resource
  const inForce = findings.refusals.length === 0
  const endpoints = inForce ? reachedBy(metadata.namespace, record, channels) : []
  const names = spec.channels.map(({ name }) => `${metadata.namespace}/${name}`)
  if (names.every((name) => channels.disabled.has(name)))
    findings.notes.push({ reason: 'Disabled', message: 'all channels of the route are disabled' })
  const status = judge('ModelRoute', metadata, { findings, inForce, fields: { endpoints } })
  const imagesOnly = answersImagesOnly(metadata.namespace, record.targets, channels)
  return { ...status, conditions: [...status.conditions, priced(spec, imagesOnly, metadata.generation)] }
}

/** Endpoints that the route can serve, in the order of the contract. */
function reachedBy(
  namespace: string,
  { targets, picturesOnly = false }: RouteRecord,
  channels: Channels,
): EndpointName[] {
  const reached = new Set(
    targets.flatMap(({ channel, features, weight }) => {
      const found = channels.records.get(`${namespace}/${channel}`)?.record
      if (found === undefined || weight === 0) return []
      return endpointsOf(found.type, features ?? found.features, picturesOnly)
    }),
  )
  return ENDPOINT_NAMES.filter((name) => reached.has(name))
}

/** Disabled and refused channels count, so that a request does not change its meaning while one of them is missing. */
function hasImagesChannelsOnly(namespace: string, spec: ModelRouteSpec, { types }: Channels): boolean {
  const known = spec.channels.map(({ name }) => `${namespace}/${name}`).filter((name) => types.has(name))
  return known.every((name) => isImagesOnly(types.get(name)))
}

/** Whether every answer is an image: channels of the type images also send images to chat clients. */
function answersImagesOnly(
  namespace: string,
  targets: readonly TargetRecord[],
  { records }: Channels,
): boolean {
  return targets.every(({ channel }) => isImagesOnly(records.get(`${namespace}/${channel}`)?.record.type))
}

function isImagesOnly(type: ChannelType | undefined): boolean {
  return type !== undefined && CHANNEL_TYPE_FACTS[type].imagesOnly === true
}

function priced(spec: ModelRouteSpec, imagesOnly: boolean, generation: number) {
  if (spec.free === true) return isPriced(generation, 'the model is free')
  if (spec.price === undefined) return isUnpriced(generation, howToPrice(spec))
  if (!pricesAnswers(spec.price, imagesOnly))
    return isUnpriced(
      generation,
      'spec.price.perImage alone is only enough if all channels have the type images; add input and output, or perRequest',
    )
  return isPriced(generation, 'the model has a price')
}

function howToPrice({ channels, model }: ModelRouteSpec): string {
  const names = [...channels.map((channel) => channel.model ?? model), model]
  const name = names.find((one) => !one.includes('*')) ?? 'MODEL'
  return `set spec.price or spec.free: true; \`sluice prices suggest ${name}\` prints a price block to put under spec`
}

function isPriced(generation: number, message: string) {
  return condition('Priced', 'True', generation, [{ reason: 'Priced', message }])
}

function isUnpriced(generation: number, advice: string) {
  const message = `enforced accounts cannot use the route: ${advice}`
  return condition('Priced', 'False', generation, [{ reason: 'Unpriced', message }])
}
