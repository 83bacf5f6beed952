/** What a program is, where it listens and what it reads. */
import { z } from 'zod'
import { labels, list, port, ranges, redisUrl, time } from './fields.ts'

export const processSettings = {
  SLUICE_PORT: port(8080).describe('Port of the API. 0 takes a free one.'),
  SLUICE_ADMIN_PORT: port(8081).describe(
    'Port of metrics, health and what the command line reads. 0 takes a free one.',
  ),
  SLUICE_HOST: z
    .string()
    .optional()
    .describe('Address to listen on; default all interfaces, and for `sluice dev` 127.0.0.1 and ::1.'),
  SLUICE_CONFIG_DIR: z
    .string()
    .optional()
    .describe('Folder of resources, read by `sluice dev`; default the quickstart example.'),
  SLUICE_NAMESPACE: z
    .string()
    .default('default')
    .describe(
      'Namespace of the resources in a folder; in a cluster, the one of the Lease, default that of the pod.',
    ),
  SLUICE_REDIS_URL: redisUrl().describe(
    'The Redis that controller and proxies share, as redis:// or rediss:// with user and password where they are needed; several addresses separated by commas are nodes of one Cluster.',
  ),
  SLUICE_STATE_REDIS_URL: redisUrl().describe(
    'A Redis of its own for conversations and the request log; default SLUICE_REDIS_URL.',
  ),
  SLUICE_SEALING_KEYS_FILE: z
    .string()
    .optional()
    .describe(
      'File with the keys that seal what is stored in Redis and what clients carry; see docs/redis.md. Read again when ' +
        'it changes. `sluice dev` without it makes a key that ends with the process.',
    ),
  SLUICE_WATCH_NAMESPACES: list().describe(
    'Namespaces that the controller watches, separated by commas; default all.',
  ),
  SLUICE_SECRET_LABEL_SELECTOR: labels().describe(
    'Labels, as name=value and separated by commas, of the Secrets that the controller reads; default all Secrets. Those ' +
      'that it makes get them.',
  ),
  SLUICE_LEASE_NAME: z
    .string()
    .default('sluice-controller')
    .describe('Lease that decides which controller leads.'),
  SLUICE_LEASE_DURATION: time('15s').describe(
    'How long a controller that stopped answering stays leader; it renews its Lease in a fraction of it.',
  ),
  SLUICE_INSTANCE: z
    .string()
    .max(128)
    .regex(/^[-.\w]+$/, 'may have letters, digits, -, _ and .')
    .optional()
    .describe('Name of this process among its peers; default the host name and a random part.'),
  SLUICE_KEY_MAX_AGE: time('10m').describe(
    'How long a proxy serves what it knows of API keys while Redis is away; after that their requests are answered 503.',
  ),
  SLUICE_ADMIN_TOKEN: z
    .string()
    .min(16)
    .optional()
    .describe(
      'Token for the guarded paths of the admin port. Without it they answer loopback addresses only.',
    ),
  SLUICE_ADMIN_URLS: list().describe(
    'Admin ports that the command line asks, separated by commas; default http://127.0.0.1:8081, else the pods of the cluster.',
  ),
  SLUICE_TRUSTED_PROXIES: ranges().describe(
    'Addresses or CIDR ranges of the ingress, whose X-Forwarded-For is believed.',
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
    .describe('Form of the log. `auto`: text on a terminal, JSON elsewhere.'),
  SLUICE_LOG_UPSTREAM_BODIES: z
    .enum(['full', 'redacted'])
    .default('full')
    .describe(
      'Whether the request log quotes upstream error bodies (credentials masked; they may quote the request).',
    ),
}
