/** Faults of what people run: the command line, the admin pages, the tools of developers. */
import { faults, type Mutant } from '../fault.ts'

export const TOOLS: Mutant[] = [
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
    // No test at all is a success.
    ['failed > 0 || passed === 0 ? 1 : 0', 'failed > 0 ? 1 : 0'],
  ),

  ...faults(
    'tools/cluster/state.ts',
    'tools/cluster/state.test.ts',
    // make down ends whatever has the pid now.
    ['beginning(pid) === began', 'beginning(pid) !== undefined'],
    // A server is elsewhere after each start.
    ['if (before !== undefined) return before', 'if (before !== undefined) return before + 1'],
  ),

  // A proxy of a former leader counts as current.
  ...faults('cli/status.ts', 'cli/status.test.ts', ['b.epoch - a.epoch || b.generation', 'b.generation']),

  // A model name that a client made up moves the operator's cursor.
  ...faults('cli/table.ts', 'cli/table.test.ts', ['return plain(String(cell))', 'return String(cell)']),

  // The pods are asked without the token.
  ...faults('cli/admin/pods.ts', 'cli/admin/pods.test.ts', ['query, headers, timeoutMs', 'query, timeoutMs']),

  // The API server answers with a regular expression.
  ...faults('tools/generate/schema.ts', 'tools/generate/schema.test.ts', [
    "if (typeof said === 'string') return said",
    '',
  ]),

  // After a fence nobody leads for the length of the Lease.
  ...faults('cli/controller.ts', 'test/integration/controller/program.test.ts', [
    'Promise.race([stop(), pause(STOP_MS)])',
    'Promise.resolve()',
  ]),

  // make up believes another server to be the example upstream.
  ...faults('tools/cluster/detached.ts', 'tools/cluster/state.test.ts', [
    'if (await isFree(port)) continue',
    'if (port > 0) continue',
  ]),

  // A quadratic regular expression passes, or one that is not a literal.
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
    // So does one that writes a user before the name.
    ['const HOST = /^(?:', 'const HOST = /^(?:[^@]*@)?(?:'],
  ),

  // Nobody hears that no controller leads.
  ...faults('cli/status.ts', 'cli/status.test.ts', [
    'controllers.length > 0 && !controllers',
    'false && !controllers',
  ]),
]
