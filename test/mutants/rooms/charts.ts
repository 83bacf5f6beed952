/** Faults of the Helm chart and of the examples. */
import { faults, type Mutant } from '../fault.ts'

export const CHARTS: Mutant[] = [
  // Helm and an autoscaler fight over the number of proxies.
  ...faults('helm/sluice/templates/proxy.yaml', 'test/chart/values.test.ts', [
    'or $.Values.autoscaling.enabled (kindIs',
    'or false (kindIs',
  ]),

  // The proxies can talk to the API server.
  ...faults('helm/sluice/templates/proxy.yaml', 'test/chart/render.test.ts', [
    'automountServiceAccountToken: false\n      enableServiceLinks',
    'automountServiceAccountToken: true\n      enableServiceLinks',
  ]),

  // Every upgrade restarts Redis.
  ...faults('helm/sluice/templates/redis.yaml', 'test/chart/upgrade.test.ts', [
    'include "sluice.redisConf" (list . dict) | sha',
    'printf "%s" .Chart.Version | sha',
  ]),

  // Redis keeps its old configuration.
  ...faults('helm/sluice/templates/redis.yaml', 'test/chart/upgrade.test.ts', [
    'include "sluice.redisConf" (list . dict) | sha',
    'printf "fixed" | sha',
  ]),

  // An alert leads nowhere.
  ...faults('helm/sluice/files/rules.yaml', 'test/chart/incidents.test.ts', [
    'runbook: docs/incidents/SluiceStoreAway.md',
    'runbook: docs/incidents/SluiceStoreEvicts.md',
  ]),

  // The bill of materials lacks packages that development dependencies need too.
  ...faults('Dockerfile', 'test/chart/image.test.ts', [
    'npm sbom --sbom-format',
    'npm sbom --omit=dev --package-lock-only --sbom-format',
  ]),

  // An Application Load Balancer uses connections that the proxy is closing.
  ...faults('examples/ingress/alb.yaml', 'test/chart/ingress.test.ts', [
    'name: SLUICE_IDLE_TIMEOUT, value: 650s',
    'name: SLUICE_IDLE_TIMEOUT, value: 65s',
  ]),

  // ingress-nginx ends an answer that nginx.conf, which is tested, would wait for.
  ...faults('examples/ingress/ingress-nginx.yaml', 'test/chart/ingress.test.ts', [
    'proxy-read-timeout: "620"',
    'proxy-read-timeout: "60"',
  ]),

  // Every pod in the cluster can reach Redis.
  ...faults('helm/sluice/templates/networkpolicy.yaml', 'test/chart/render.test.ts', [
    '        - port: redis\n      from:',
    '        - port: redis\n      from:\n        - namespaceSelector: {}',
  ]),

  // The autoscaler waits for ever for a metric that has another name.
  ...faults('helm/sluice/templates/availability.yaml', 'test/chart/values.test.ts', [
    'name: {{ .requestsInFlightMetric }}',
    'name: requests_in_flight',
  ]),

  // The controller cannot reach the API server.
  ...faults('helm/sluice/templates/networkpolicy.yaml', 'test/chart/values.test.ts', [
    'ternary $egress.upstreams $egress.apiServer (eq',
    'ternary $egress.upstreams $egress.upstreams (eq',
  ]),

  // The programs do not check the certificate of Redis against its own authority.
  ...faults('helm/sluice/templates/_helpers.tpl', 'test/chart/values.test.ts', [
    'dict "CA" .ca "CERT"',
    'dict "CA" "" "CERT"',
  ]),

  // A kubelet restarts a Redis that is busy.
  ...faults('helm/sluice/templates/redis.yaml', 'test/chart/probes.test.ts', [
    'livenessProbe:\n            exec: { command: [redis-cli, ping] }',
    'livenessProbe:\n            exec: { command: [sh, -c, "redis-cli ping | grep -q PONG"] }',
  ]),

  // `helm test` passes whatever answers.
  ...faults('helm/sluice/files/serves.js', 'test/chart/next-steps.test.ts', [
    'answer.status === expected',
    'answer.status > 0',
  ]),

  // The first key goes where no controller sees it.
  ...faults('helm/sluice/templates/NOTES.txt', 'test/chart/next-steps.test.ts', [
    '$resources = first .Values.watchNamespaces',
    '$resources = $namespace',
  ]),

  ...faults(
    'helm/sluice/files/rules.yaml',
    'test/chart/render.test.ts',
    // Every edit of a resource raises an alarm.
    [' offset 1m', ''],
    // A managed Redis that hides a setting raises an alarm for ever.
    ['risk=~"evicts_all|not_persistent"', 'risk!="evicts_volatile"'],
  ),

  ...faults(
    'helm/sluice/templates/_helpers.tpl',
    'test/chart/release.test.ts',
    // An upgrade discards the passwords of Redis.
    ['$root.Release.Namespace (index . 1) |', '$root.Release.Namespace "none" |'],
  ),

  ...faults(
    'helm/sluice/templates/secrets.yaml',
    'test/chart/release.test.ts',
    // An upgrade discards the sealing key.
    ['"Secret" .Release.Namespace $sealing', '"Secret" .Release.Namespace "none"'],
    // A rollback puts back a key that was rotated since.
    ['    helm.sh/hook: pre-install,pre-upgrade\n', ''],
  ),

  ...faults(
    'helm/sluice/templates/rbac.yaml',
    'test/chart/release.test.ts',
    // The controller may delete any Secret.
    [', create{{ end }}]', ', create, delete{{ end }}]'],
  ),

  ...faults(
    'examples/ingress/nginx.conf',
    'test/e2e/ingress/ingress.test.ts',
    // Client addresses are lost if a load balancer precedes the ingress.
    ['$proxy_add_x_forwarded_for', '$remote_addr'],
  ),
]
