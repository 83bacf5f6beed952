/** JSON Schemas of resources as they are written in files, for editors. */
import { z } from 'zod'
import { API_VERSION, type Kind } from './kind.ts'

export type JsonSchema = z.core.JSONSchema.BaseSchema

const DRAFT = 'http://json-schema.org/draft-07/schema#'

/** The schema of one kind. Rules between fields are not in it: `sluice validate` checks them. */
export function kindSchema(kind: Kind): JsonSchema {
  return { $schema: DRAFT, title: kind.kind, ...resource(kind) }
}

/** The schema of a file with documents of all kinds, Secrets included. */
export function fileSchema(kinds: readonly Kind[]): JsonSchema {
  return { $schema: DRAFT, title: 'Sluice resource', oneOf: [...kinds.map(resource), SECRET] }
}

function resource(kind: Kind): JsonSchema {
  // Defaults need not be written. A status is the controller's, and a file that was read from a cluster may have one.
  const spec = z.toJSONSchema(kind.spec, { io: 'input', target: 'draft-07', override: allowVariables })
  delete spec.$schema
  return closed(kind.description, API_VERSION, kind.kind, kind.specOptional === true ? [] : ['spec'], {
    spec: { ...spec, description: 'The desired state.' },
    status: { type: 'object', description: 'The state that the controller reports; read-only.' },
  })
}

/** The one field of a spec whose `${NAME}` a folder replaces. */
function allowVariables({
  jsonSchema,
  path,
}: {
  jsonSchema: JsonSchema
  path: readonly PropertyKey[]
}): void {
  if (path.at(-1) === 'baseURL') jsonSchema.pattern = `${jsonSchema.pattern}|\\$\\{`
}

const texts = (description: string): JsonSchema => ({
  ...{ type: 'object', description, additionalProperties: { type: 'string' } },
})

const METADATA: JsonSchema = {
  type: 'object',
  required: ['name'],
  properties: {
    name: { type: 'string', description: 'Unique among the resources of its kind and namespace.' },
    namespace: { type: 'string', description: 'In a folder SLUICE_NAMESPACE, or absent.' },
    labels: texts('Free text for people and tools.'),
    annotations: texts('Free text for people and tools.'),
  },
}

const SECRET = closed('Keys of clients and credentials of upstreams, by name.', 'v1', 'Secret', [], {
  type: { type: 'string', description: 'Ignored.' },
  immutable: { type: 'boolean', description: 'Ignored.' },
  data: texts('Values in base64.'),
  // biome-ignore lint/suspicious/noTemplateCurlyInString: this is the text that users write.
  stringData: texts('Values as they are. In a folder ${NAME} is read from the environment.'),
})

function closed(
  description: string,
  apiVersion: string,
  kind: string,
  required: string[],
  properties: Record<string, JsonSchema>,
): JsonSchema {
  return {
    type: 'object',
    description,
    additionalProperties: false,
    required: ['apiVersion', 'kind', 'metadata', ...required],
    properties: {
      apiVersion: { type: 'string', const: apiVersion },
      kind: { type: 'string', const: kind },
      metadata: METADATA,
      ...properties,
    },
  }
}
