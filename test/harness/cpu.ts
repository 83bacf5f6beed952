/** Milliseconds of CPU that this thread spends on `work`: other programs on the machine do not count. */
export function cpuMs(work: () => void): number {
  const before = process.threadCpuUsage()
  work()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1_000
}
