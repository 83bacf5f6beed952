/** A real nginx with the configuration of examples/ingress. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '../../harness/gateway.ts'
import { freePort, ROOT } from '../../harness/program.ts'

const EXAMPLE = join(ROOT, 'examples', 'ingress', 'nginx.conf')

export interface Nginx {
  base: string
  /** Leads new connections to these base URLs; those in use stay, as with an ingress controller. */
  lead(proxies: string[]): void
  stop(): Promise<void>
}

/** `proxies` are base URLs. Only the addresses differ from the example. */
export async function startNginx(proxies: string[]): Promise<Nginx> {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-nginx-'))
  mkdirSync(join(dir, 'tmp'))
  const port = await freePort()
  const writeSite = (to: string[]) => {
    const servers = to.map((proxy) => `server ${new URL(proxy).host};`).join(' ')
    const site = readFileSync(EXAMPLE, 'utf8')
      .replace(/server sluice-proxy\S+;/, servers)
      .replace(/listen 80;/, `listen 127.0.0.1:${port};`)
    writeFileSync(join(dir, 'site.conf'), site)
  }
  writeSite(proxies)
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${dir}/tmp/${name};`,
  )
  writeFileSync(
    join(dir, 'nginx.conf'),
    `daemon off; pid ${dir}/pid; error_log stderr warn; events { worker_connections 4096; }\nhttp { access_log off; ${paths.join(' ')} include ${dir}/site.conf; }\n`,
  )
  const child = spawn('nginx', ['-e', 'stderr', '-p', dir, '-c', join(dir, 'nginx.conf')], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let output = ''
  child.stderr.on('data', (chunk: Buffer) => {
    output += chunk
  })
  const exited = once(child, 'exit')
  const stop = async () => {
    child.kill('SIGTERM')
    await exited
    rmSync(dir, { recursive: true, force: true })
  }
  const base = `http://127.0.0.1:${port}`
  try {
    await until(() => {
      if (child.exitCode !== null) throw new Error(`nginx ended with ${child.exitCode}: ${output}`)
      return fetch(base).then(
        () => true,
        () => false,
      )
    }, 'nginx to listen')
    const lead = (to: string[]) => {
      writeSite(to)
      child.kill('SIGHUP')
    }
    return { base, lead, stop }
  } catch (error) {
    await stop()
    throw error
  }
}
