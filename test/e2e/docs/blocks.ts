/** The code blocks of the documentation: which are run, and why the others are not. */

export interface Run {
  /** Files in the folder where it runs. */
  files?: Record<string, string>
  /** Its exit code, by default 0. */
  code?: number
  /** What its output contains; `shown`: the output that the block itself shows. */
  output: RegExp | 'shown'
  /** Only the commands that match, where a tool of the others is missing. */
  only?: RegExp
}

const PRICE_LIST = JSON.stringify({
  'gpt-4o': {
    ...{ litellm_provider: 'openai', mode: 'chat' },
    ...{ input_cost_per_token: 2.5e-6, cache_read_input_token_cost: 1.25e-6, output_cost_per_token: 1e-5 },
    input_cost_per_token_batches: 1.25e-6,
  },
})

const ROUTE = (channels: string, price: string) => `apiVersion: sluice.dev/v1alpha1
kind: ModelRoute
metadata:
  name: gpt
spec:
  model: gpt
  ${channels}:
    - { name: openai, model: gpt-4o }
  ${price}
`

/** In the folder `own` of the laptop, against `make run` with the quickstart. */
export const RUN: Record<string, Run> = {
  // First, because it shows the balance before any request.
  'docs/cli.md#sluice-explain': { output: 'shown' },
  'README.md#try-it-2': { output: /Hello from the example upstream\. You said: Hello there/ },
  'docs/cli.md#sluice-usage': { output: /^KEY +MODEL [\s\S]*\naccount,/ },
  'docs/cli.md#sluice-prices': {
    files: {
      'prices.json': PRICE_LIST,
      'routes.yaml': ROUTE('channels', 'price: { input: "2", cachedInput: "1.25", output: "10" }'),
    },
    output: 'shown',
  },
  'docs/cli.md#sluice-validate': {
    files: { 'routes.yaml': ROUTE('chanels', 'free: true') },
    code: 1,
    output: 'shown',
  },
  'docs/cli.md#sluice-schema': { output: /^$/ },
  'docs/cli.md#sluice-completion': { only: /bash/, output: /^$/ },
  'docs/clients.md#curl': { output: /"id":"example"[\s\S]*data: \[DONE\]/ },
  'docs/clients.md#embeddings': { output: /"embedding":\[/ },
  'docs/clients.md#images': { output: /"b64_json":"iVBORw0KGgo/ },
  'docs/operations.md#usage': { output: /^KEY +MODEL [\s\S]*\naccount,/ },
  'docs/redis.md#sealing-2': { output: /^\d{4}-\d\d:[\w+/]{43}=$/m },
}

const page = (name: string, ...headings: string[]) => headings.map((heading) => `${name}#${heading}`)
const incident = (...names: string[]) => names.map((name) => `docs/incidents/Sluice${name}.md#find-the-cause`)

/** Their `sluice`, `make`, `kubectl`, `helm`, `docker` and `curl` commands are checked, not run. */
export const CHECKED: { reason: string; blocks: string[] }[] = [
  {
    reason: 'needs a cluster; test/install and test/chart run such commands',
    blocks: [
      ...page('README.md', 'in-a-cluster', 'in-a-cluster-2'),
      ...page('docs/backup.md', 'what-to-back-up'),
      ...page('docs/cli.md', 'sluice-ledger-verify', 'sluice-ledger-list-adjust-and-restore'),
      ...page('docs/cli.md', 'sluice-keys-and-sluice-credits'),
      ...page('docs/ingress.md', 'what-is-in-front-of-the-proxies', 'what-is-tested'),
      ...page('docs/install.md', 'installation', 'secrets', 'redis', 'redis-2', 'crds', 'crds-2', 'crds-3'),
      ...page('docs/install.md', 'ingress', 'proxies-how-many-and-how-they-stop-2'),
      ...page('docs/install.md', 'upgrade-uninstall', 'upgrade-uninstall-2'),
      ...page('docs/providers.md', 'how-to-use-a-recipe-2'),
      ...page('docs/upgrade.md', 'upgrade-and-roll-back', 'roll-back'),
      ...page('helm/sluice-crds/README.md', 'chart-sluice-crds'),
      ...page('helm/sluice/README.md', 'chart-sluice'),
      ...incident(
        'BalancesAtRisk',
        'ChannelEjected',
        'CheckpointStuck',
        'FundsLow',
        'JournalStuck',
        'LedgerStuck',
      ),
      ...incident('NoLeader', 'ProxyBehind', 'RecordsUnreadable', 'SettlesLost', 'StoreAway', 'StoreEvicts'),
      ...incident('StoreRepaired', 'UsageClamped'),
      ...page('docs/incidents/SluiceSettlesLost.md', 'what-to-do'),
    ],
  },
  {
    reason: 'needs Docker, or changes the machine',
    blocks: [
      ...page('docs/install.md', 'installation-2', 'the-image', 'without-kubernetes-2'),
      ...page('examples/compose/README.md', 'sluice-with-docker-compose', 'sluice-with-docker-compose-2'),
      ...page('examples/systemd/README.md', 'sluice-with-systemd'),
    ],
  },
  {
    reason: 'programs that keep running, of which other tests start the same',
    blocks: [...page('README.md', 'try-it'), ...page('docs/install.md', 'without-kubernetes')],
  },
  {
    reason: 'would run the tests or the benchmarks',
    blocks: [
      ...page('README.md', 'tests'),
      ...page('CONTRIBUTING.md', 'set-up', 'tests'),
      ...page('docs/benchmarks.md', 'benchmarks'),
    ],
  },
  {
    reason: 'names a folder, a controller or an upstream of the reader',
    blocks: [
      ...page('docs/incidents/SluiceFolderProblems.md', 'find-the-cause', 'find-the-cause-2'),
      ...page('docs/relay.md', 'the-relay'),
    ],
  },
  {
    reason: 'test/e2e/providers.test.ts runs it',
    blocks: [
      ...page('docs/providers.md', 'openai-2', 'anthropic-2', 'azure-openai-2', 'openrouter-2', 'groq-2'),
      ...page('docs/providers.md', 'mistral-2', 'vllm-2', 'ollama-2', 'llamacpp-2'),
      ...page('docs/providers.md', 'another-openai-compatible-server-2'),
    ],
  },
  {
    reason: 'settings for a client; test/e2e/agents reads them',
    blocks: page('docs/clients.md', 'claude-code'),
  },
]

/** Blocks without a command. */
export const NO_COMMANDS: { reason: string; blocks: string[] }[] = [
  {
    reason: 'a drawing or a formula',
    blocks: [
      ...page('ARCHITECTURE.md', 'who-may-import-whom', 'a-request-becomes-a-bill'),
      ...page('docs/sizing.md', 'proxies', 'redis'),
    ],
  },
  {
    reason: 'output, or what a program stores',
    blocks: [
      ...page('docs/cli.md', 'sluice-status', 'sluice-logs'),
      ...page('docs/clients.md', 'cost-and-warnings'),
      ...page('docs/operations.md', 'the-ledger-journal'),
      ...page('docs/redis.md', 'sealing'),
    ],
  },
  {
    reason: 'settings of another program, or of ours',
    blocks: [
      ...page('docs/clients.md', 'codex', 'open-webui'),
      ...page('docs/install.md', 'prometheus-2'),
      ...page('docs/redis.md', 'redis', 'redis-2', 'users'),
      ...page('examples/systemd/README.md', 'sluice-with-systemd-2'),
    ],
  },
  {
    reason: 'values of the chart; test/chart/docs.test.ts applies them',
    blocks: [
      ...page('docs/ingress.md', 'ingress', 'gateway-api'),
      ...page('docs/install.md', 'redis-3', 'network', 'network-2', 'network-3'),
      ...page('docs/install.md', 'proxies-how-many-and-how-they-stop', 'prometheus'),
    ],
  },
  { reason: 'a resource', blocks: page('docs/install.md', 'certificates-of-upstreams') },
]
