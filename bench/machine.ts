/** What a figure depends on beside the code: the first line of every raw file. */
import { execFileSync, spawnSync } from 'node:child_process'
import { cpus, loadavg, release, totalmem } from 'node:os'
import type { RunLine } from './raw.ts'

export function machine(): RunLine {
  return {
    kind: 'run',
    at: new Date().toISOString(),
    commit: execFileSync('git', ['rev-parse', '--short=12', 'HEAD'], {
      cwd: import.meta.dirname,
      encoding: 'utf8',
    }).trim(),
    cpu: cpus()[0]?.model.trim() ?? '',
    cores: cpus().length,
    memoryGB: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    node: process.version,
    go: versionOf('go', 'version'),
    redis: versionOf('redis-server', '--version'),
    nginx: versionOf('nginx', '-v'),
    loadAverage: Math.round((loadavg()[0] ?? 0) * 10) / 10,
  }
}

/** The first number with dots that the program prints. */
function versionOf(program: string, argument: string): string {
  const { stdout, stderr } = spawnSync(program, [argument], { encoding: 'utf8' })
  return /\d+\.\d+(\.\d+)?/.exec(`${stdout}${stderr}`)?.[0] ?? 'missing'
}
