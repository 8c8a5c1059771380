// Encryption of the connections to the database and to the service.
import { isLoopbackHost } from '../../text/loopback-host.ts'
import type { DoctorFinding } from './finding.ts'

export type Encryption = {
  /** Whether both ends are on the same machine: a Unix socket, or a loopback address. */
  readonly isLocal: boolean
  readonly isEncrypted: boolean
  /** Whether the certificate was verified. */
  readonly isVerified: boolean
  /** When the certificate of the server ends, in milliseconds since 1970. */
  readonly validTo: number | undefined
}

const day = 86_400_000
/** Days before the end of a certificate: it should have been renewed, and it must be. Certificates of 90 days are renewed after 60. */
const soon = { warn: 21, error: 7 }

export function certificateFindings(subject: string, validTo: number | undefined, now: number): DoctorFinding[] {
  if (validTo === undefined) return []
  const days = Math.floor((validTo - now) / day)
  if (days >= soon.warn) return []
  return [
    {
      area: 'tls',
      code: 'certificate_expires',
      level: days < soon.error ? 'ERROR' : 'WARN',
      subject,
      what: `Its certificate ${days < 0 ? 'has ended' : 'ends'} on ${new Date(validTo).toISOString().slice(0, 10)}, ${days < 0 ? `${-days} days ago` : `in ${days} days`}.`,
      why: 'Clients that verify certificates cannot connect after that.',
      advice: 'Renew it, and find out why it was not renewed automatically.',
    },
  ]
}

/** @param now milliseconds since 1970 */
export function databaseTlsFindings(
  { isLocal, isEncrypted, isVerified, validTo }: Encryption,
  now: number,
): DoctorFinding[] {
  const subject = 'connection to the database'
  const certificate = certificateFindings(subject, validTo, now)
  if (isLocal) return certificate
  if (!isEncrypted) {
    return [
      {
        area: 'tls',
        code: 'database_not_encrypted',
        level: 'ERROR',
        subject,
        what: 'It leaves this machine, and is not encrypted.',
        why: 'Everyone on the network path can read all rows and the statements with their tokens, and change them.',
        advice: 'Switch TLS on in PostgreSQL (ssl = on), and add ?sslmode=verify-full&sslrootcert=… to DATABASE_URL.',
      },
    ]
  }
  if (isVerified) return certificate
  return [
    {
      area: 'tls',
      code: 'database_not_verified',
      level: 'WARN',
      subject,
      what: 'It is encrypted, but the certificate of the server is not verified.',
      why: 'Everyone on the network path can pretend to be the database, and then read everything.',
      advice: 'Add ?sslmode=verify-full to DATABASE_URL, and sslrootcert with the certificate of your authority.',
    },
    ...certificate,
  ]
}

/** @param url of the running service, as clients use it */
export function serviceTlsFindings(url: URL): DoctorFinding[] {
  if (url.protocol === 'https:' || isLoopbackHost(url.hostname)) return []
  return [
    {
      area: 'tls',
      code: 'service_not_encrypted',
      level: 'ERROR',
      subject: url.origin,
      what: 'The service is reached by http from other machines.',
      why: 'Passwords, tokens and session cookies can be read on the way.',
      advice: 'Put a proxy with TLS in front of it (“rowhouse help deploy”), and let the server listen on 127.0.0.1.',
    },
  ]
}
