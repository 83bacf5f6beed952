/** The logger that the rooms use. A pino logger satisfies it; only the programs load pino. */
export interface Log {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}
