/** The CustomResourceDefinition of a kind (https://kubernetes.io/docs/reference/kubernetes-api/extend-resources/). */
import { stringify } from 'yaml'
import { GROUP, type Kind, VERSION } from '../../contract/api/index.ts'
import { crdSchema, type ObjectNode } from './schema.ts'

/** What a resource shows until the controller has looked at it: tools that wait for Ready then wait. */
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

/** Version 1.1 quotes what older parsers would take for an instant or a truth value. */
const YAML_STYLE = { lineWidth: 0, aliasDuplicateObjects: false, version: '1.1' } as const

export function crdFileName(kind: Kind): string {
  return `${GROUP}_${kind.plural}.yaml`
}

/** The CRD as a YAML document. Throws SchemaRefused when the schema says what a CRD cannot. */
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
        description: 'What is wanted.',
        ...(kind.specOptional === true && { default: {} }),
        ...(kind.rules.length > 0 && {
          'x-kubernetes-validations': kind.rules.map(({ cel, message }) => ({ rule: cel, message })),
        }),
      },
      status: {
        ...crdSchema(`${kind.kind}.status`, kind.status),
        description: 'What the controller found; read-only.',
        default: PENDING_STATUS,
      },
    },
  }
}
