/** Files for TLS to Redis: certificate authorities and a client certificate. */
import { readFileSync } from 'node:fs'
import { createSecureContext, type SecureContext } from 'node:tls'
import type { Log } from '../../contract/log.ts'
import { certificatesIn, keyPairFault } from '../../contract/pem.ts'

/** Paths of PEM files. */
export interface TlsFiles {
  /** Authorities that replace the public ones. */
  ca?: string | undefined
  cert?: string | undefined
  /** Without a passphrase. */
  key?: string | undefined
}

/** A file cannot be used. Says which one and why, and never quotes it. */
export class TlsFilesError extends Error {
  override name = 'TlsFilesError'
  readonly file: keyof TlsFiles

  constructor(file: keyof TlsFiles, message: string) {
    super(message)
    this.file = file
  }
}

/** TLS options for ioredis, which reads `secureContext` for each connection. */
export interface TlsOptions {
  readonly secureContext: SecureContext | undefined
}

/**
 * Reads the files now, and again for each connection, so that a renewed certificate needs no restart. If they are invalid
 * then, the previous contents stay in use. Throws TlsFilesError.
 */
export function readTlsFiles(files: TlsFiles, log: Log): TlsOptions {
  let seen = read(files)
  let context = contextOf(seen)
  let lastReason = ''
  return {
    get secureContext() {
      try {
        const found = read(files)
        if (found.ca !== seen.ca || found.cert !== seen.cert || found.key !== seen.key) {
          context = contextOf(found)
          seen = found
          log.info({ files }, 'certificates for Redis were read again')
        }
        lastReason = ''
      } catch (error) {
        const reason = error instanceof TlsFilesError ? `${error.file}: ${error.message}` : String(error)
        if (reason !== lastReason)
          log.error({ reason }, 'certificates for Redis cannot be read again; the previous ones stay in use')
        lastReason = reason
      }
      return context
    },
  }
}

/** The contents of the files. */
function read(files: TlsFiles): TlsFiles {
  if (files.cert === undefined && files.key !== undefined)
    throw new TlsFilesError('cert', 'must be set to the certificate of the private key')
  if (files.key === undefined && files.cert !== undefined)
    throw new TlsFilesError('key', 'must be set to the private key of the certificate')
  return { ca: contentOf(files, 'ca'), cert: contentOf(files, 'cert'), key: contentOf(files, 'key') }
}

function contentOf(files: TlsFiles, file: keyof TlsFiles): string | undefined {
  const path = files[file]
  if (path === undefined) return undefined
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
    throw new TlsFilesError(file, `the file cannot be read (${code})`)
  }
}

function contextOf({ ca, cert, key }: TlsFiles): SecureContext | undefined {
  if (ca !== undefined && certificatesIn(ca).length === 0)
    throw new TlsFilesError('ca', 'the file has no PEM certificate')
  if (cert !== undefined && key !== undefined) checkKeyPair(cert, key)
  return ca === undefined && cert === undefined ? undefined : createSecureContext({ ca, cert, key })
}

function checkKeyPair(cert: string, key: string): void {
  switch (keyPairFault(cert, key)) {
    case 'certificate':
      throw new TlsFilesError('cert', 'the file has no PEM certificate')
    case 'key':
      throw new TlsFilesError('key', 'the file has no PEM private key without a passphrase')
    case 'pair':
      throw new TlsFilesError('key', 'the private key does not belong to the certificate')
  }
}
