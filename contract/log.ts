/** What the rooms need of a logger. A pino logger is one; only the programs load pino. */
export interface Log {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}
