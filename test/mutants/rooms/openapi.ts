/** Faults of the OpenAPI document, and of a gateway that deviates from it. */
import { faults, type Mutant } from '../fault.ts'

const DOCUMENT = 'tools/generate/openapi/document.test.ts'
const EXERCISE = 'test/e2e/openapi.test.ts'

export const OPENAPI: Mutant[] = [
  ...faults(
    'tools/generate/openapi/document.ts',
    DOCUMENT,
    // Paths of the server are undocumented.
    ['  ...stored,\n', ''],
    // No reference in the document resolves.
    ["'#/components/schemas/'", "'#/components/schema/'"],
  ),

  ...faults(
    'tools/generate/openapi/errors.ts',
    DOCUMENT,
    // A code that clients receive is undocumented.
    ["  'content_filter',\n  'insufficient_balance',", "  'insufficient_balance',"],
    // The shape of errors lacks the field at fault.
    ["      param: z.string().optional().describe('The field at fault.'),\n", ''],
  ),

  ...faults(
    'tools/generate/openapi/models.ts',
    DOCUMENT,
    // The document has a path that does not exist.
    ["path: '/v1/models/{model}'", "path: '/v1/model/{model}'"],
  ),

  ...faults(
    'tools/generate/openapi/images.ts',
    DOCUMENT,
    // The checked-in document is outdated.
    ["summary: 'Create images'", "summary: 'Create an image'"],
  ),

  // Longer names than the document allows are accepted.
  ...faults('proxy/dialects/core/json/fields.ts', EXERCISE, [
    'MAX_MODEL_LENGTH = 256',
    'MAX_MODEL_LENGTH = 512',
  ]),

  ...faults(
    'proxy/server/error-response.ts',
    EXERCISE,
    // Errors of the gateway look like those of a relayed upstream.
    ["    ...['x-sluice-error', error.code],\n", ''],
    // JSON is labeled as text.
    ["'content-type', 'application/json'", "'content-type', 'text/plain'"],
  ),

  // A model entry has an unexpected field.
  ...faults('proxy/pipeline/models/models.ts', EXERCISE, [
    'created_at: new Date(route.created * 1_000).toISOString()',
    'created_at: new Date(route.created * 1_000).toUTCString()',
  ]),

  // Nonsense is accepted as a sort order.
  ...faults(
    'proxy/pipeline/stored-responses/item-page.ts',
    'proxy/pipeline/stored-responses/item-page.test.ts',
    ["order !== null && order !== 'asc' && order !== 'desc'", 'order !== null && order.length > 64'],
  ),
]
