/** Faults of the OpenAPI document, and of a gateway that does not keep to it. */
import { faults, type Mutant } from '../fault.ts'

const DOCUMENT = 'tools/generate/openapi/document.test.ts'
const EXERCISE = 'test/e2e/openapi.test.ts'

export const OPENAPI: Mutant[] = [
  ...faults(
    'tools/generate/openapi/document.ts',
    DOCUMENT,
    // Paths of the server stand nowhere.
    ['  ...stored,\n', ''],
    // No reference of the document leads anywhere.
    ["'#/components/schemas/'", "'#/components/schema/'"],
  ),

  ...faults(
    'tools/generate/openapi/errors.ts',
    DOCUMENT,
    // A code that clients meet is not told.
    ["  'content_filter',\n  'insufficient_balance',", "  'insufficient_balance',"],
    // The field at fault is not in the shape of errors.
    ["      param: z.string().optional().describe('The field at fault.'),\n", ''],
  ),

  ...faults(
    'tools/generate/openapi/models.ts',
    DOCUMENT,
    // Clients are told of a path that is not there.
    ["path: '/v1/models/{model}'", "path: '/v1/model/{model}'"],
  ),

  ...faults(
    'tools/generate/openapi/images.ts',
    DOCUMENT,
    // The checked-in document is another one.
    ["summary: 'Create images'", "summary: 'Create an image'"],
  ),

  // Longer names than the document allows are taken.
  ...faults('proxy/dialects/core/json/fields.ts', EXERCISE, [
    'MAX_MODEL_LENGTH = 256',
    'MAX_MODEL_LENGTH = 512',
  ]),

  ...faults(
    'proxy/server/error-response.ts',
    EXERCISE,
    // Errors of the gateway cannot be told from those of a relayed upstream.
    ["    'x-sluice-error': error.code,\n", ''],
    // JSON is labelled as text.
    ["'content-type': 'application/json'", "'content-type': 'text/plain'"],
  ),

  // A model says something that no client expects.
  ...faults('proxy/pipeline/models/models.ts', EXERCISE, [
    'created_at: new Date(route.created * 1_000).toISOString()',
    'created_at: new Date(route.created * 1_000).toUTCString()',
  ]),

  // Nonsense is taken for an order.
  ...faults('proxy/pipeline/stored-responses/item-page.ts', EXERCISE, [
    "order !== null && order !== 'asc' && order !== 'desc'",
    'order !== null && order.length > 64',
  ]),
]
