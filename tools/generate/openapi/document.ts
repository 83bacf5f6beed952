/** docs/openapi.yaml: the interface as OpenAPI 3.1 (https://spec.openapis.org/oas/v3.1.1.html). */
import { stringify } from 'yaml'
import { z } from 'zod'
import { environment } from '../../../contract/env.ts'
import type { ErrorCode } from '../../../proxy/errors.ts'
import { chat } from './chat.ts'
import { embeddings } from './embeddings.ts'
import { codesByStatus, ERROR_SCHEMAS, meaningOf, withCodes } from './errors.ts'
import { ANSWER_HEADERS, ERROR_HEADERS, HEADERS } from './headers.ts'
import { images } from './images.ts'
import { messages } from './messages.ts'
import { models } from './models.ts'
import { type Answer, type Content, type ErrorFamily, JSON_TYPE, type Operation } from './operation.ts'
import { relay } from './relay.ts'
import { responses } from './responses.ts'
import { named } from './schemas.ts'
import { stored } from './stored.ts'
import { usageOperations } from './usage.ts'

export const OPERATIONS: readonly Operation[] = [
  chat,
  ...responses,
  ...stored,
  ...messages,
  embeddings,
  ...images,
  ...models,
  ...usageOperations,
  relay,
]

const NOTICE = '# Made from the source by `make generate`.'
const SCHEMAS = '#/components/schemas/'
const STYLE = { lineWidth: 0, aliasDuplicateObjects: false, version: '1.1' } as const

const settings = environment.parse({})
const DESCRIPTION = [
  'One address and one key for every model. Every path except `/api/proxy` also exists below `/api`.',
  'Schemas of requests describe what the gateway itself requires and checks. It accepts more fields, and passes them to',
  'the upstream of the model. The same holds for fields of answers. A field that is null counts as absent.',
  `A body has at most ${settings.SLUICE_MAX_BODY_BYTES} bytes, a form with images ${settings.SLUICE_MAX_UPLOAD_BYTES},`,
  `JSON at most ${settings.SLUICE_MAX_JSON_DEPTH} levels and ${settings.SLUICE_MAX_JSON_KEYS} keys. Settings change these limits.`,
  `A body may have \`Content-Encoding: gzip\`; uncompressed it has at most ${settings.SLUICE_MAX_INFLATED_BYTES} bytes.`,
  'A method that a path does not have is answered 405 `method_not_allowed` with `Allow`, an unknown path 404 `not_found`.',
].join('\n')

export function openapiPage(): string {
  return `${NOTICE}\n${stringify(openapiDocument(), STYLE)}`
}

export function openapiDocument(): object {
  const answers = new ErrorAnswers()
  const paths: Record<string, Record<string, unknown>> = {}
  for (const operation of OPERATIONS) {
    const item = paths[operation.path] ?? {}
    paths[operation.path] = {
      ...item,
      ...(operation.alone && { servers: [{ url: '/' }] }),
      [operation.method]: operationObject(operation, answers),
    }
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Sluice',
      version: 'v1',
      description: DESCRIPTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }, { url: '/api' }],
    tags: [...new Set(OPERATIONS.map(({ tag }) => tag))].map((name) => ({ name })),
    security: [{ bearer: [] }, { apiKey: [] }],
    paths,
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'A key of the gateway.' },
        apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key', description: 'The same key.' },
        upstreamKey: { type: 'http', scheme: 'bearer', description: 'The key of the relay’s upstream.' },
      },
      headers: headersObject(),
      responses: answers.written(),
      schemas: schemasObject(),
    },
  }
}

function operationObject(operation: Operation, errors: ErrorAnswers): object {
  const { id, tag, summary, description, parameters, request, answers, security, otherwise } = operation
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description !== undefined && { description }),
    ...(security !== undefined && { security }),
    ...(parameters !== undefined && {
      parameters: parameters.map(({ schema, ...rest }) => ({
        ...rest,
        required: rest.in === 'path',
        schema: schemaObject(schema, 'input'),
      })),
    }),
    ...(request !== undefined && {
      requestBody: { required: true, content: contentObject(request, 'input') },
    }),
    responses: {
      ...Object.fromEntries(
        Object.entries(answers).map(([status, answer]) => [status, answerObject(answer)]),
      ),
      ...errors.of(operation),
      ...(otherwise !== undefined && { default: answerObject(otherwise) }),
    },
  }
}

function answerObject({ description, content, headers = [] }: Answer): object {
  return {
    description,
    headers: headerReferences([...ANSWER_HEADERS, ...headers]),
    ...(content !== undefined && { content: contentObject(content, 'output') }),
  }
}

/** The errors of all operations: one answer for each family and status, with the codes of all operations. */
class ErrorAnswers {
  readonly #codes = new Map<string, { family: ErrorFamily; codes: Set<ErrorCode> }>()

  /** References by status. */
  of(operation: Operation): Record<string, object> {
    const { family } = operation
    const references: Record<string, object> = {}
    for (const [status, codes] of codesByStatus(operation)) {
      const name = `${family}-${status}`
      const known = this.#codes.get(name)?.codes ?? []
      this.#codes.set(name, { family, codes: new Set([...known, ...codes]) })
      references[status] = { $ref: `#/components/responses/${name}` }
    }
    return references
  }

  written(): object {
    const entries = [...this.#codes].map(([name, { family, codes }]): [string, object] => {
      const list = [...codes]
      const schema = {
        allOf: [schemaObject(ERROR_SCHEMAS[family], 'output'), schemaObject(withCodes(list), 'output')],
      }
      const headers = headerReferences(ERROR_HEADERS)
      return [name, { description: meaningOf(list), headers, content: { [JSON_TYPE]: { schema } } }]
    })
    return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)))
  }
}

function headerReferences(names: readonly string[]): object {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

function headersObject(): object {
  return Object.fromEntries(
    Object.entries(HEADERS).map(([name, { schema, ...rest }]) => [
      name,
      { ...rest, schema: schemaObject(schema, 'output') },
    ]),
  )
}

function contentObject(content: Content, io: 'input' | 'output'): object {
  return Object.fromEntries(
    Object.entries(content).map(([type, schema]) => [type, { schema: schemaObject(schema, io) }]),
  )
}

/** A reference to a named schema; any other schema in full, with references to the named ones in it. */
function schemaObject(schema: z.ZodType, io: 'input' | 'output'): object {
  const name = named.get(schema)?.id
  if (name !== undefined) return { $ref: `${SCHEMAS}${name}` }
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io })
  return rest
}

function schemasObject(): object {
  const { schemas } = z.toJSONSchema(named, { io: 'input', uri: (id) => `${SCHEMAS}${id}` })
  return Object.fromEntries(
    Object.entries(schemas)
      .map(([id, { $schema: _, $id: __, ...schema }]): [string, object] => [id, schema])
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  )
}
