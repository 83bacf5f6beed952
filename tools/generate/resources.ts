/** docs/resources.md: the reference page of all kinds. */
import { API_VERSION, type ConditionType, KINDS, type Kind, REASONS } from '../../contract/api/index.ts'
import { EXAMPLES } from './examples.ts'
import { fieldTable } from './fields.ts'
import { code, NOTICE, page, table } from './markdown.ts'
import { crdSchema } from './schema.ts'

const INTRO = `All kinds belong to ${code(API_VERSION)}, are namespaced and form the kubectl category ${code('sluice')}.
References stay inside the namespace. Durations and dollars are text: quote them in YAML.`

const CONDITIONS: Record<ConditionType, string> = {
  Accepted: 'The spec is valid and in force.',
  ResolvedRefs: 'All objects that the spec names exist.',
  Priced: 'Routes only: the route has a price or is free.',
  Programmed: 'Every live proxy serves this generation.',
  Ready: 'The summary: all other conditions are true. `kubectl wait --for=condition=Ready` waits for it.',
  Healthy:
    'Channels only: no live proxy sees the upstream fail. Ready does not depend on it, so an upstream that is away does not fail `helm --wait`.',
  Stalled:
    'Present only while Accepted is false. Waiting does not help, so `helm --wait` and Flux give up at once.',
  AtRisk:
    'Accounts only, and present only while it holds: Redis may lose the balance. Ready does not depend on it.',
  FundsLow:
    'Accounts and ApiKeys, and present only while it holds: a balance or a budget is nearly or wholly used up. Ready does not depend on it.',
}

export function resourcesPage(): string {
  return page([
    '# Resources',
    NOTICE,
    INTRO,
    Object.values(KINDS)
      .map((kind) => `- [${kind.kind}](#${kind.singular}): ${kind.description}`)
      .join('\n'),
    ...Object.entries(KINDS).flatMap(([name, kind]) => section(kind, EXAMPLES[name] ?? '')),
    '## Conditions',
    'The status and each condition name the generation of the resource that they describe. They are stale when the resource has a newer one.',
    table(
      ['Type', 'True when'],
      Object.entries(CONDITIONS).map(([type, meaning]) => [code(type), meaning]),
    ),
    table(
      ['Reason', 'Meaning'],
      Object.entries(REASONS).map(([reason, meaning]) => [code(reason), meaning]),
    ),
  ])
}

function section(kind: Kind, example: string): string[] {
  return [
    `## ${kind.kind}`,
    kind.description,
    `\`\`\`yaml\n${example}\`\`\``,
    `Short names: ${kind.shortNames.map(code).join(', ')}. Field selectors: ${kind.selectableFields
      .map((field) => code(field.slice(1)))
      .join(', ')}.`,
    '### Spec',
    fieldTable(crdSchema(`${kind.kind}.spec`, kind.spec)),
    ...(kind.rules.length > 0
      ? ['Refused with these messages:', kind.rules.map(({ message }) => `- ${message}`).join('\n')]
      : []),
    '### Status',
    fieldTable(crdSchema(`${kind.kind}.status`, kind.status)),
  ].map((block) => block.replace(/^### /, `### ${kind.kind} `))
}
