/** One short example of each kind, for the top of its section in docs/resources.md. */

export const EXAMPLES: Record<string, string> = {
  ApiKey: `apiVersion: sluice.dev/v1alpha1
kind: ApiKey
metadata:
  name: alice
spec:
  accountRef:
    name: research
  models: ["claude-*", "gpt-*"]
  allowedIPs: ["192.0.2.0/24"]
  expiresAt: "2027-12-31T23:59:59Z"
  secretRef:
    name: alice-key
`,
  Account: `apiVersion: sluice.dev/v1alpha1
kind: Account
metadata:
  name: research
spec:
  overdraft: "10.00"
`,
  Credit: `apiVersion: sluice.dev/v1alpha1
kind: Credit
metadata:
  name: research-2026-11
spec:
  accountRef:
    name: research
  amount: "25.00"
  note: Invoice 4711
`,
  Channel: `apiVersion: sluice.dev/v1alpha1
kind: Channel
metadata:
  name: example-provider
spec:
  type: chat_completion
  baseURL: https://api.example.com/v1
  secretRef:
    name: example-provider
  timeouts:
    firstByte: 60s
`,
  ModelRoute: `apiVersion: sluice.dev/v1alpha1
kind: ModelRoute
metadata:
  name: fast-chat
spec:
  model: fast-chat
  channels:
    - name: example-provider
      model: example-small
    - name: backup-provider
      priority: 1
  retry:
    attempts: 2
    classes: [transient, rate_limit]
  price:
    input: "0.25"
    cachedInput: "0.025"
    output: "2.00"
`,
}
