import { expect, it } from 'vitest'
import { KINDS } from '../../../contract/api/index.ts'
import { keepObject } from './object.ts'

/** A ModelRoute as an API server with another version of the CRD may have it. */
const route = (spec: object) => ({
  metadata: {
    ...{ name: 'r', namespace: 'default', uid: 'u', resourceVersion: '1', generation: 1 },
    creationTimestamp: '2026-01-01T00:00:00Z',
  },
  spec,
})
const keep = (spec: object) => keepObject('ModelRoute', KINDS.ModelRoute, route(spec), undefined)
const SPEC = { model: 'm', channels: [{ name: 'a' }, { name: 'b' }], free: true }

it('keeps a resource without the fields of a newer CRD, and names them', () => {
  const [a, b] = SPEC.channels
  const newer = keep({ ...SPEC, region: 'eu', channels: [a, { ...b, zone: { name: 1 } }] })
  expect(newer.resource?.spec).toEqual(keep(SPEC).resource?.spec)
  expect(newer.unknownFields?.toSorted()).toEqual(['spec.channels[1].zone', 'spec.region'])
})

it('refuses a resource that has another fault as well', () => {
  const { resource, invalid } = keep({ ...SPEC, region: 'eu', channels: 'a' })
  expect(resource).toBeUndefined()
  expect(invalid?.message).toContain('spec.channels must be a list')
})

it('reports no field of a resource that it knows wholly', () => {
  expect(keep(SPEC).unknownFields).toBeUndefined()
})
