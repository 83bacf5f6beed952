/**
 * The programs of a Kubernetes control plane on loopback, run as an ordinary user: commands, flags, and when each is
 * ready. The tests and `make up` share the list.
 */
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { get } from 'node:https'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { binary } from '../../test/assets/binaries.ts'
import { type Certificates, certificates } from './certificates.ts'
import type { ProgramSpec } from './process.ts'

/** Ports of 127.0.0.1. */
export interface ControlPlanePorts {
  etcd: number
  etcdPeer: number
  apiserver: number
}

/** How the administrator reaches the API server. */
export interface AdminAccess {
  /** https://127.0.0.1:PORT */
  url: string
  /** Path of the administrator's kubeconfig. */
  kubeconfig: string
  adminKubeconfigText: string
  /** PEM texts, for clients that speak HTTP themselves. */
  tls: { ca: string; cert: string; key: string }
}

export interface ControlPlanePrograms {
  etcd: ProgramSpec
  apiserver: ProgramSpec
  controllerManager: ProgramSpec
  access: AdminAccess
}

/**
 * The controllers that users of a cluster rely on: they collect owned objects, end namespaces, give a namespace its
 * ServiceAccount and the cluster's CA, and aggregate rules into the roles edit, view and admin. None of them runs pods.
 */
const CONTROLLERS = [
  'garbage-collector-controller',
  'namespace-controller',
  'serviceaccount-controller',
  'root-ca-certificate-publisher-controller',
  'clusterrole-aggregation-controller',
]
/** Those that make pods of workloads. */
const WORKLOADS = [
  'deployment-controller',
  'replicaset-controller',
  'statefulset-controller',
  'job-controller',
  'disruption-controller',
]

/** `workloads` are also made into pods, which something else must run. */
export type ControllerManager = boolean | 'workloads'

/** Makes missing certificates and kubeconfig in `dir`. Throws with the name of a missing binary. */
export async function controlPlanePrograms(
  dir: string,
  ports: ControlPlanePorts,
  controllerManager: ControllerManager,
): Promise<ControlPlanePrograms> {
  const files = await certificates(join(dir, 'certificates'))
  const access = adminAccess(dir, ports.apiserver, files)
  return {
    etcd: etcd(dir, ports),
    apiserver: apiserver(dir, ports, files, controllerManager !== false, access),
    controllerManager: manager(files, access, controllerManager === 'workloads' ? WORKLOADS : []),
    access,
  }
}

function etcd(dir: string, ports: ControlPlanePorts): ProgramSpec {
  const client = `http://127.0.0.1:${ports.etcd}`
  const peer = `http://127.0.0.1:${ports.etcdPeer}`
  return {
    name: 'etcd',
    command: binary('etcd'),
    ports: [ports.etcd, ports.etcdPeer],
    args: [
      `--data-dir=${join(dir, 'etcd')}`,
      `--listen-client-urls=${client}`,
      `--advertise-client-urls=${client}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=default=${peer}`,
      // Doubles the speed of writes. A power failure may lose this cluster.
      '--unsafe-no-fsync',
      '--log-level=warn',
    ],
    ready: async () => (await fetch(`${client}/health`)).ok,
  }
}

function apiserver(
  dir: string,
  ports: ControlPlanePorts,
  files: Certificates,
  controllerManager: boolean,
  access: AdminAccess,
): ProgramSpec {
  return {
    name: 'kube-apiserver',
    command: binary('kube-apiserver'),
    ports: [ports.apiserver],
    args: [
      `--etcd-servers=http://127.0.0.1:${ports.etcd}`,
      `--secure-port=${ports.apiserver}`,
      '--bind-address=127.0.0.1',
      '--advertise-address=127.0.0.1',
      `--cert-dir=${join(dir, 'certificates')}`,
      `--tls-cert-file=${files.server.certificate}`,
      `--tls-private-key-file=${files.server.key}`,
      `--client-ca-file=${files.ca}`,
      `--service-account-issuer=${access.url}/`,
      `--service-account-key-file=${files.serviceAccountKey}`,
      `--service-account-signing-key-file=${files.serviceAccountKey}`,
      '--authorization-mode=RBAC',
      '--service-cluster-ip-range=10.0.0.0/24',
      '--allow-privileged=true',
      // Without the controller manager no namespace gets a ServiceAccount, and every pod would be refused.
      ...(controllerManager ? [] : ['--disable-admission-plugins=ServiceAccount']),
    ],
    // The namespace appears a moment after the server reports ready.
    ready: async () =>
      (await statusOf(access, '/readyz')) === 200 &&
      (await statusOf(access, '/api/v1/namespaces/default')) === 200,
  }
}

function manager(files: Certificates, access: AdminAccess, more: string[]): ProgramSpec {
  return {
    name: 'kube-controller-manager',
    command: binary('kube-controller-manager'),
    args: [
      `--kubeconfig=${access.kubeconfig}`,
      `--service-account-private-key-file=${files.serviceAccountKey}`,
      `--root-ca-file=${files.ca}`,
      `--controllers=${[...CONTROLLERS, ...more].join(',')}`,
      '--leader-elect=false',
      '--secure-port=0',
    ],
    ready: async () => (await statusOf(access, '/api/v1/namespaces/default/serviceaccounts/default')) === 200,
  }
}

function adminAccess(dir: string, port: number, files: Certificates): AdminAccess {
  const url = `https://127.0.0.1:${port}`
  const tls = {
    ca: readFileSync(files.ca, 'utf8'),
    cert: readFileSync(files.admin.certificate, 'utf8'),
    key: readFileSync(files.admin.key, 'utf8'),
  }
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  const adminKubeconfigText = stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'local', cluster: { server: url, 'certificate-authority-data': base64(tls.ca) } }],
    users: [
      {
        name: 'admin',
        user: { 'client-certificate-data': base64(tls.cert), 'client-key-data': base64(tls.key) },
      },
    ],
    contexts: [{ name: 'local', context: { cluster: 'local', user: 'admin' } }],
    'current-context': 'local',
  })
  const kubeconfig = join(dir, 'kubeconfig')
  writeFileSync(kubeconfig, adminKubeconfigText, { mode: 0o600 })
  return { url, kubeconfig, adminKubeconfigText, tls }
}

/** Status code of a GET as the administrator. */
async function statusOf({ url, tls }: AdminAccess, path: string): Promise<number> {
  const request = get(`${url}${path}`, { ...tls, agent: false, signal: AbortSignal.timeout(2_000) })
  const [response]: IncomingMessage[] = await once(request, 'response')
  response?.resume()
  return response?.statusCode ?? 0
}
