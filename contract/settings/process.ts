/** Ports, files, identity, roles and logs of a program. */
import { z } from 'zod'
import { labels, list, port, ranges, redisUrl, text, time, workers } from './fields.ts'

export const processSettings = {
  SLUICE_PORT: port(8080).describe('Port of the API; 0 picks a free one.'),
  SLUICE_ADMIN_PORT: port(8081).describe(
    'Port for metrics, health checks and the command line; 0 picks a free one.',
  ),
  SLUICE_WORKERS: workers().describe(
    'Processes that serve as one `sluice proxy`, for machines without a cluster; see docs/operations.md. `sluice dev` is always one.',
  ),
  SLUICE_HOST: text().describe(
    'Address to listen on; default: all interfaces, for `sluice dev` 127.0.0.1 and ::1.',
  ),
  SLUICE_CONFIG_DIR: text().describe(
    'Folder of resources that `sluice dev` reads; default: the quickstart example. `sluice controller` reads it instead of a cluster.',
  ),
  SLUICE_STATE_DIR: text().describe(
    'Folder for the checkpoint of balances; it must exist. `sluice dev` keeps balances and usage there when it ends; default: they end with the process. A controller that reads a folder needs it.',
  ),
  SLUICE_JOURNAL: z
    .string()
    .regex(/^(off|stdout|file:.+)$/, 'must be off, stdout or file:<path>')
    .default('off')
    .describe(
      'Where the controller writes every entry of the ledger as a line of JSON: `stdout`, or `file:<path>`, which it begins anew at 256 MiB and never removes. `off`: nowhere.',
    ),
  SLUICE_USAGE_DAYS: z.coerce
    .number()
    .int()
    .min(1)
    .max(3_660)
    .default(400)
    .describe('Days for which usage is kept in Redis. The same for the controller and the proxies.'),
  SLUICE_NAMESPACE: z
    .string()
    .default('default')
    .describe(
      'Namespace of the resources in a folder. In a cluster: namespace of the Lease, default that of the pod.',
    ),
  SLUICE_REDIS_URL: redisUrl().describe(
    'Redis that the controller and the proxies share, as redis:// or rediss://, with user and password if needed. Several addresses separated by commas are nodes of one Redis Cluster.',
  ),
  SLUICE_STATE_REDIS_URL: redisUrl().describe(
    'Separate Redis for conversations and the request log; default SLUICE_REDIS_URL.',
  ),
  SLUICE_REDIS_TIMEOUT: time('250ms').describe(
    'How long a command may wait for Redis, which counts as away after that. A request of a client waits 30 ms more at most, over all its commands.',
  ),
  SLUICE_SEALING_KEYS_FILE: text().describe(
    'File of the keys that encrypt data in Redis and the envelopes that clients carry; see docs/redis.md. Read again when ' +
      'it changes. Without it, `sluice dev` makes a key that lasts as long as the process.',
  ),
  SLUICE_WATCH_NAMESPACES: list().describe(
    'Namespaces that the controller watches, separated by commas; default: all.',
  ),
  SLUICE_SECRET_LABEL_SELECTOR: labels().describe(
    'Labels (name=value, separated by commas) of the Secrets that the controller reads; default: all Secrets. The Secrets ' +
      'that it creates get these labels.',
  ),
  SLUICE_LEASE_NAME: z
    .string()
    .default('sluice-controller')
    .describe('Lease that decides which controller leads; in a cluster.'),
  SLUICE_LEASE_DURATION: time('15s').describe(
    'How long a controller that stopped responding stays leader. A leader renews its Lease, or its key in Redis, several times within this time.',
  ),
  SLUICE_INSTANCE: z
    .string()
    .max(128)
    .regex(/^[-.\w]+$/, 'may have letters, digits, -, _ and .')
    .optional()
    .describe('Name of this process among its peers; default: the host name and a random part.'),
  SLUICE_KEY_MAX_AGE: time('10m').describe(
    'How long a proxy accepts API keys that it knows while Redis is unreachable. After that, requests are answered 503.',
  ),
  SLUICE_ADMIN_TOKEN: z
    .string()
    .min(16)
    .optional()
    .describe(
      'Token for the protected paths of the admin port. Without it, they answer loopback addresses only.',
    ),
  SLUICE_ADMIN_URLS: list().describe(
    'URLs of the admin ports that the command line reads, separated by commas; default: http://127.0.0.1:8081, else the pods of the cluster.',
  ),
  SLUICE_TRUSTED_PROXIES: ranges().describe(
    'Addresses or CIDR ranges of the ingress: proxies in front whose X-Forwarded-For header is trusted.',
  ),
  SLUICE_DRAIN_TIMEOUT: time('620s').describe(
    'How long requests in flight may take to finish after SIGTERM.',
  ),
  SLUICE_LOG_LEVEL: z
    .enum(['debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .describe('Program log level.'),
  SLUICE_LOG_FORMAT: z
    .enum(['auto', 'text', 'json'])
    .default('auto')
    .describe('Log format. `auto`: text on a terminal, JSON elsewhere.'),
  SLUICE_LOG_UPSTREAM_BODIES: z
    .enum(['full', 'redacted'])
    .default('full')
    .describe(
      'Whether the request log contains upstream error bodies. Credentials are masked in them, but they may quote the request.',
    ),
}
