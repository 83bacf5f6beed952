/** Faults of the command line, the admin pages and the developers' tools. */
import { faults, type Mutant } from '../fault.ts'

export const TOOLS: Mutant[] = [
  ...faults(
    'cli/output.ts',
    'cli/output.test.ts',
    // Only the first lines after the start are written before many more follow.
    ['    timer = undefined\n', ''],
    // The last lines of a process are lost.
    ['      flush()\n      out.flushSync()', '      out.flushSync()'],
  ),
  ...faults(
    'docs/cli.md',
    'test/e2e/docs-commands.test.ts',
    // A page shows a flag, a day or an argument that the command refuses.
    ['rotate student-017 --overlap 1h', 'rotate student-017 --overlaps 1h'],
    ['sluice usage --since 2026-11-01', 'sluice usage --since november'],
    ['sluice completion fish >', 'sluice completions fish >'],
  ),
  ...faults('docs/install.md', 'test/e2e/docs-commands.test.ts', [
    // A value that the chart does not have.
    'helm/sluice --namespace sluice --set crds.install=false',
    'helm/sluice --namespace sluice --set crds.enabled=false',
  ]),
  ...faults(
    'docs/providers.md',
    'test/e2e/providers.test.ts',
    // The provider answers 401, or 404.
    ['auth: { scheme: Header, header: api-key }\n  profile: openai-reasoning', 'profile: openai-reasoning'],
    ['baseURL: https://api.groq.com/openai/v1', 'baseURL: https://api.groq.com'],
    // Mistral answers 422 to every stream.
    ['    streamUsage: false\n', ''],
  ),
  ...faults(
    'cli/completion/tree.ts',
    'cli/completion/shells.test.ts',
    // Files are not completed.
    ["FILES.includes(placeholder) ? 'files' : 'text'", "'text'"],
  ),
  ...faults(
    'cli/completion/bash.ts',
    'cli/completion/shells.test.ts',
    // The value of an option is taken for the command's next word.
    [']()}; return ;;', ']()} ;;'],
  ),
  ...faults(
    'examples/compose/compose.yaml',
    'test/e2e/compose.test.ts',
    // Redis forgets the balances when it is killed.
    ['      - --appendonly\n      - "yes"\n', ''],
  ),
  ...faults(
    'examples/systemd/sluice-proxy.service',
    'test/e2e/systemd.test.ts',
    // A restart cuts streams.
    ['TimeoutStopSec=640s', 'TimeoutStopSec=90s'],
  ),
  ...faults(
    'cli/keys/create.ts',
    'test/e2e/keys.test.ts',
    // A repeated command makes the key that an interruption left out of reach useless for ever.
    [
      "const isMade = known !== undefined && (await place.get('Secret', secret)) !== undefined",
      'const isMade = known !== undefined',
    ],
    // A key silently keeps an older spec.
    ['!isDeepStrictEqual(withDefaults(known.spec), withDefaults(wanted))', 'false'],
    // A rehearsal creates keys.
    ["if (dryRun) return { name, note: 'would be created' }", ''],
  ),
  ...faults(
    'cli/keys/change.ts',
    'test/e2e/keys.test.ts',
    // Two rotations leave no time to replace the first key.
    ['if (running !== undefined)\n', 'if (false)\n'],
    // The old key is good for ever.
    ['.map((ref) => ({ ...ref, notAfter: until }))', ''],
    ['if (!isRevoked && !dryRun) await', 'if (!isRevoked) await'],
  ),
  ...faults(
    'cli/credits.ts',
    'test/e2e/keys.test.ts',
    // A repeated command with another amount seems to add it.
    ['if (known !== undefined && !isDeepStrictEqual(known.spec, spec))', 'if (false)'],
  ),
  ...faults('cli/resources/folder.ts', 'test/e2e/keys.test.ts', [
    // Everybody on the machine reads the keys.
    'Secret: 0o600',
    'Secret: 0o644',
  ]),
  ...faults(
    'cli/resources/folder.ts',
    'cli/resources/folder.test.ts',
    // Every file is read for every key.
    ['loaded ??= everything()', 'loaded = everything()'],
    // The same command makes a key twice.
    ['    if ((await find(kind, name)).length > 0)', '    if (false)'],
  ),
  ...faults(
    'cli/usage-file.ts',
    'test/e2e/state-dir.test.ts',
    // Usage ends with the process.
    ['      clearInterval(timer)\n      await save()\n', '      clearInterval(timer)\n'],
    // Tags are forgotten.
    ['      ...tags.map(({ day', '      ...[].map(({ day'],
  ),
  // Rooms of the proxy import each other.
  ...faults('tools/check-imports.ts', 'tools/check-imports.test.ts', [
    'from === to || ',
    'roomOf(file) === roomOf(target) || ',
  ]),

  ...faults(
    'tools/check-words.ts',
    'tools/check-words.test.ts',
    // A phrase that two lines of a comment share is not found.
    ["'(?: |\\\\n[ *#/-]*)'", "' '"],
    // An allowed word is allowed in the whole file.
    ['line.includes(each)', 'line !== each'],
  ),

  ...faults(
    'tools/test-summary.ts',
    'tools/test-summary.test.ts',
    // Running no test is a success.
    ['failed > 0 || passed === 0 ? 1 : 0', 'failed > 0 ? 1 : 0'],
  ),

  ...faults(
    'tools/cluster/state.ts',
    'tools/cluster/state.test.ts',
    // make down ends any process that now has the pid.
    ['beginning(pid) === began', 'beginning(pid) !== undefined'],
    // A server changes its port on each start.
    ['if (before !== undefined) return before', 'if (before !== undefined) return before + 1'],
  ),

  ...faults(
    'cli/prices/decimal.ts',
    'cli/prices/decimal.test.ts',
    // A price with too many decimals is cut off.
    ['(exact ? 0n : 1n)', '0n'],
    ['digits * 10n ** BigInt(-left), places: 0', 'digits, places: 0'],
  ),
  ...faults(
    'cli/prices/price-list.ts',
    'cli/prices/price-list.test.ts',
    // A number is a float before it is a price.
    ['context?.source ?? String(value)', 'String(value * 1.1)'],
    // A price that is text is ignored.
    ['else if (COST.test(field))', 'else if (false)'],
  ),
  ...faults(
    'cli/prices/convert.ts',
    'cli/prices/price-list.test.ts',
    // A tier that raises only some prices counts for all.
    ['ratios.some((one) => one !== factor)', 'false'],
    // What has no counterpart is dropped silently.
    ['if (this.#left.size > 0)', 'if (this.#left.size > 99)'],
  ),
  ...faults(
    'cli/prices/compare.ts',
    'cli/prices/import.test.ts',
    // The first of several prices is chosen silently.
    ['offers.some((other) => pricesOf(other) !== pricesOf(first))', 'offers.length > 99'],
  ),
  ...faults(
    'cli/prices/block.ts',
    'cli/prices/import.test.ts',
    ["return of('input')", 'return undefined'],
    // A block loses the prices that only the route has.
    ['    ...own,\n    ...list,', '    ...list,'],
  ),
  // A route without a price passes the check.
  ...faults('cli/prices/import.ts', 'cli/prices/import.test.ts', ["'differs', 'unpriced', ", "'differs', "]),

  // Accounts wait, and the status calls everything well.
  ...faults('cli/status.ts', 'cli/status.test.ts', ["kind === 'evicts_all'", "kind === 'evicts'"]),

  // A proxy of a former leader counts as current.
  ...faults('cli/status.ts', 'cli/status.test.ts', ['b.epoch - a.epoch || b.generation', 'b.generation']),

  // A client's made-up model name moves the operator's cursor.
  ...faults('cli/table.ts', 'cli/table.test.ts', ['return plain(String(cell))', 'return String(cell)']),

  // Requests to the pods lack the token.
  ...faults('cli/admin/pods.ts', 'cli/admin/pods.test.ts', ['query, headers, timeoutMs', 'query, timeoutMs']),

  // The API server answers with a regular expression.
  ...faults('tools/generate/schema.ts', 'tools/generate/schema.test.ts', [
    "if (typeof message === 'string') return message",
    '',
  ]),

  // After a fence there is no leader for the length of the Lease.
  ...faults('cli/controller.ts', 'test/integration/controller/program.test.ts', [
    'Promise.race([stop(), pause(STOP_MS)])',
    'Promise.resolve()',
  ]),

  // make up takes another server for the example upstream.
  ...faults('tools/cluster/detached.ts', 'tools/cluster/state.test.ts', [
    'if (await isFree(port)) continue',
    'if (port > 0) continue',
  ]),

  // A quadratic regular expression passes, or a dynamic one.
  ...faults(
    'tools/check-regexes.ts',
    'tools/check-regexes.test.ts',
    [
      'if (reports.length === 0) return undefined',
      'if (!reports.some(({ exponential }) => exponential)) return undefined',
    ],
    [
      "if (type !== 'NewExpression' && type !== 'CallExpression') return undefined",
      'if (type) return undefined',
    ],
  ),

  // A web page reads the admin port through a browser on the host.
  ...faults(
    'admin/server.ts',
    'admin/server.test.ts',
    [' && namesLoopback(req.headers.host)', ''],
    // The same with a user before the host name.
    ['const HOST = /^(?:', 'const HOST = /^(?:[^@]*@)?(?:'],
  ),

  // A missing leader is not reported.
  ...faults('cli/status.ts', 'cli/status.test.ts', [
    'controllers.length > 0 && !controllers',
    'false && !controllers',
  ]),
]
