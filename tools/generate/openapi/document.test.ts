/** The document beside the code that it is made from. */
import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { ENDPOINTS, pathTemplate } from '../../../contract/endpoints.ts'
import { DIALECTS } from '../../../proxy/dialects/index.ts'
import { CATALOGUE, type ErrorCode, GatewayError } from '../../../proxy/errors.ts'
import { type AppParts, createApp } from '../../../proxy/server/app.ts'
import { OPERATIONS, openapiDocument, openapiPage } from './document.ts'
import { codesByStatus, ERROR_SCHEMAS, SOCKET_CODES } from './errors.ts'

const CODES = Object.keys(CATALOGUE) as ErrorCode[]
const routers = z.object({
  stack: z.array(z.object({ route: z.object({ path: z.unknown() }).optional() })),
})

/** As the document writes them: `/v1/models/*model` is `/v1/models/{model}`. */
function registeredPaths(): Set<string> {
  const refusal = () => new GatewayError('upgrade_required', 'Not here.')
  // Routes are registered and never called.
  const ports = { bodies: { limits: { endpointBytes: new Map() } } }
  const app = createApp({ ports, upgrades: { refusal } } as unknown as AppParts)
  const paths = routers.parse({ stack: app.router.stack }).stack.flatMap(({ route }) => route?.path ?? [])
  return new Set(
    paths
      .flat()
      .map((path) =>
        path instanceof RegExp ? path.source.replaceAll(/[\\^$]/g, '') : pathTemplate(String(path)),
      ),
  )
}

/** Every value of `$ref`, wherever it stands. */
function referencesIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]: [string, unknown]) =>
    key === '$ref' ? [String(inner)] : referencesIn(inner),
  )
}

/** What a reference names (RFC 6901). */
function resolve(document: unknown, reference: string): unknown {
  return reference
    .slice(2)
    .split('/')
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>((value, part) => z.record(z.string(), z.unknown()).parse(value)[part], document)
}

describe('paths', () => {
  it('are those of the server, each except the relay also below /api', () => {
    const documented = OPERATIONS.flatMap(({ path, alone }) => (alone ? [path] : [path, `/api${path}`]))
    expect(registeredPaths()).toEqual(new Set(documented))
  })

  it('have a post for each endpoint that calls a model', () => {
    const posts = OPERATIONS.filter(({ method }) => method === 'post').map(({ path }) => path)
    const paths = Object.values(ENDPOINTS).map(({ path }) => pathTemplate(path))
    expect(posts).toEqual(expect.arrayContaining(paths))
  })

  it('name their parameters, and operations have unique names', () => {
    for (const { path, parameters = [] } of OPERATIONS) {
      const names = parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name)
      expect([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)).toEqual(names)
    }
    expect(new Set(OPERATIONS.map(({ id }) => id)).size).toBe(OPERATIONS.length)
    expect(new Set(OPERATIONS.map(({ method, path }) => `${method} ${path}`)).size).toBe(OPERATIONS.length)
  })
})

describe('the document', () => {
  const document = openapiDocument()

  it('has no dangling reference', () => {
    const references = new Set(referencesIn(document))
    expect(references.size).toBeGreaterThan(20)
    for (const reference of references) expect(resolve(document, reference), reference).toBeDefined()
  })

  it('equals the file in the tree', async () => {
    expect(await readFile(new URL('../../../docs/openapi.yaml', import.meta.url), 'utf8')).toBe(openapiPage())
  })

  it('has every operation', () => {
    const { paths } = z
      .object({ paths: z.record(z.string(), z.record(z.string(), z.unknown())) })
      .parse(document)
    for (const { path, method, id } of OPERATIONS)
      expect(paths[path]?.[method]).toMatchObject({ operationId: id })
  })
})

describe('errors', () => {
  it('include every code of the catalogue, except the one for other methods', () => {
    const documented = OPERATIONS.flatMap((operation) => [...codesByStatus(operation).values()].flat())
    const known = new Set<ErrorCode>([...documented, ...SOCKET_CODES, 'method_not_allowed'])
    expect(CODES.filter((code) => !known.has(code))).toEqual([])
  })

  it('have the status of the catalogue, or an upstream’s own', () => {
    for (const operation of OPERATIONS)
      for (const [status, codes] of codesByStatus(operation))
        for (const code of codes) if (status !== CATALOGUE[code].status) expect([413, 422]).toContain(status)
  })

  it.each(CODES)('%s has the shape that its schema says, in both families', (code) => {
    const tokens = { used: 9, limit: 5 }
    for (const options of [{}, { param: 'a.b', tokens, details: { error_visibility: 'user_facing' } }]) {
      const error = new GatewayError(code, 'A sentence.', options)
      ERROR_SCHEMAS.openai.parse(DIALECTS.chat.errorBody(error, 'req_1'))
      ERROR_SCHEMAS.anthropic.parse(DIALECTS.messages.errorBody(error, 'req_1'))
    }
  })
})
