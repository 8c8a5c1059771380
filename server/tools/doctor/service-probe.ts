// Looks at the running service from outside, as its clients do.
import { request as requestHttp, type IncomingMessage } from 'node:http'
import { request as requestHttps } from 'node:https'
import { TLSSocket } from 'node:tls'
import type { ClockReading } from './clocks.ts'
import type { DoctorFinding } from './finding.ts'

/** Milliseconds for a whole response. */
const responseTime = 5000
/** Bytes of the body of `/ready` that are read. */
const longestBody = 10_000

export type ServiceReading = {
  readonly status: number
  readonly server: string | null
  readonly clock: ClockReading | undefined
  /** When its certificate ends, in milliseconds since 1970; undefined without TLS. */
  readonly validTo: number | undefined
  /** Whether the certificate is valid for this machine's authorities and the host. */
  readonly isTrusted: boolean
  /** The body of `/ready`, if it is a JSON object. */
  readonly ready: Readonly<Record<string, unknown>>
}

/**
 * Asks for `/ready`.
 *
 * @param url base URL of the service
 * @param limit milliseconds for the whole response
 * @throws the error of the connection; when the response is not complete in time
 */
export async function readService(url: URL, limit = responseTime): Promise<ServiceReading> {
  const target = new URL('ready', url.href.endsWith('/') ? url : `${url.href}/`)
  const before = Date.now()
  const { response, text, validTo, isTrusted } = await get(target, limit)
  const after = Date.now()
  const { date, server } = response.headers
  const time = date === undefined ? NaN : Date.parse(date)
  return {
    status: response.statusCode ?? 0,
    server: server === undefined ? null : String(server),
    validTo,
    isTrusted,
    clock: Number.isNaN(time) ? undefined : { name: 'the service', time, before, after, unit: 1000 },
    ready: parsed(text),
  }
}

type Got = Pick<ServiceReading, 'validTo' | 'isTrusted'> & { readonly response: IncomingMessage; readonly text: string }

function get(target: URL, limit: number): Promise<Got> {
  // A certificate that is not trusted is a finding, and nothing secret is sent.
  const options = { agent: false, rejectUnauthorized: false }
  return new Promise((resolve, reject) => {
    const asked = (target.protocol === 'https:' ? requestHttps : requestHttp)(target, options, (response) => {
      const { socket } = response
      const isTls = socket instanceof TLSSocket
      const end = isTls ? (socket.getPeerCertificate().valid_to as string | undefined) : undefined
      const certificate = {
        validTo: end === undefined ? undefined : Date.parse(end),
        isTrusted: !isTls || socket.authorized,
      }
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => {
        text += chunk
        if (text.length > longestBody) response.destroy()
      })
      response.once('close', () => {
        clearTimeout(late)
        resolve({ response, text, ...certificate })
      })
    })
    const late = setTimeout(() => asked.destroy(new Error(`no response within ${limit / 1000} s`)), limit)
    asked.once('error', (error) => {
      clearTimeout(late)
      reject(error)
    })
    asked.end()
  })
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

/** What `/ready` says. */
export function readinessFindings(url: URL, { status, ready, isTrusted }: ServiceReading): DoctorFinding[] {
  const common = { area: 'service', subject: url.origin } as const
  const findings: DoctorFinding[] = []
  if (!isTrusted) {
    findings.push({
      ...{ ...common, area: 'tls', code: 'certificate_not_trusted', level: 'ERROR' },
      what: 'Its certificate is not valid for this host, has ended, or is not of an authority that this machine trusts.',
      why: 'Clients refuse the connection; those that do not can be deceived.',
      advice: 'Install a certificate for the host, with all intermediate ones.',
    })
  }
  if (typeof ready.overload === 'string') {
    findings.push({
      ...{ ...common, code: 'service_overloaded', level: 'WARN' },
      what: `It refuses requests at the moment: ${ready.overload === 'pool' ? 'too many wait for a connection' : 'its processor is busy'}.`,
      why: 'There are more requests than it can serve.',
      advice: 'See “rowhouse help overload”: faster statements or more connections, more processes.',
    })
  }
  if (status === 200) return findings
  const reasons = typeof ready.reasons === 'object' ? JSON.stringify(ready.reasons) : JSON.stringify(ready.checks ?? {})
  findings.push({
    ...{ ...common, code: 'service_not_ready', level: 'ERROR', what: `/ready responds with ${status}: ${reasons}.` },
    why: 'It cannot serve requests, and a load balancer sends it none.',
    advice: 'Read its log: it says why the database, or the schema, is not available.',
  })
  return findings
}
