/** The CustomResourceDefinition of a kind (https://kubernetes.io/docs/reference/kubernetes-api/extend-resources/). */
import { stringify } from 'yaml'
import { GROUP, type Kind, VERSION } from '../../contract/api/index.ts'
import { crdSchema, type ObjectNode } from './schema.ts'

/** The status of a resource until the controller has seen it. Without this, tools that wait for Ready do not wait. */
const PENDING_STATUS = {
  conditions: [
    {
      type: 'Ready',
      status: 'Unknown',
      reason: 'Pending',
      message: 'Waiting for the controller',
      lastTransitionTime: '1970-01-01T00:00:00Z',
    },
  ],
}

/** YAML 1.1 quotes values that older parsers would read as a time or a boolean. */
const YAML_STYLE = { lineWidth: 0, aliasDuplicateObjects: false, version: '1.1' } as const

export function crdFileName(kind: Kind): string {
  return `${GROUP}_${kind.plural}.yaml`
}

/** The CRD as a YAML document. Throws SchemaRefused if a CRD cannot express the schema. */
export function crdYaml(kind: Kind): string {
  const crd = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${kind.plural}.${GROUP}` },
    spec: {
      group: GROUP,
      names: {
        kind: kind.kind,
        listKind: `${kind.kind}List`,
        plural: kind.plural,
        singular: kind.singular,
        shortNames: kind.shortNames,
        categories: ['sluice'],
      },
      scope: 'Namespaced',
      versions: [
        {
          name: VERSION,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: resourceSchema(kind) },
          subresources: { status: {} },
          additionalPrinterColumns: kind.columns,
          selectableFields: kind.selectableFields.map((jsonPath) => ({ jsonPath })),
        },
      ],
    },
  }
  return `# Made from contract/api by \`make generate\`.\n${stringify(crd, YAML_STYLE)}`
}

function resourceSchema(kind: Kind): ObjectNode {
  return {
    type: 'object',
    description: kind.description,
    ...(kind.specOptional !== true && { required: ['spec'] }),
    properties: {
      apiVersion: { type: 'string', description: `${GROUP}/${VERSION}.` },
      kind: { type: 'string', description: `${kind.kind}.` },
      metadata: { type: 'object' },
      spec: {
        ...crdSchema(`${kind.kind}.spec`, kind.spec),
        description: 'The desired state.',
        ...(kind.specOptional === true && { default: {} }),
        ...(kind.rules.length > 0 && {
          'x-kubernetes-validations': kind.rules.map(({ cel, message }) => ({ rule: cel, message })),
        }),
      },
      status: {
        ...crdSchema(`${kind.kind}.status`, kind.status),
        description: 'The state that the controller reports; read-only.',
        default: PENDING_STATUS,
      },
    },
  }
}
