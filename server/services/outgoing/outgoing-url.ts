// URLs that outgoing requests may have, and where redirects may lead.
import { OutgoingError, refusal } from './outgoing-error.ts'

const defaultPorts: ReadonlyMap<string, string> = new Map([
  ['http:', '80'],
  ['https:', '443'],
])

/** Ports of services that a request could be mistaken by: https://fetch.spec.whatwg.org/#port-blocking */
const blockedPorts: ReadonlySet<number> = new Set([
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110,
  111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532,
  540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061,
  6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
])

/**
 * Parses the URL of an outgoing request.
 *
 * @throws OutgoingError, which is final
 */
export function outgoingUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url) throw refusal(`the URL is invalid: ${shortened(text)}`)
  if (!defaultPorts.has(url.protocol)) throw refusal(`the URL must begin with http:// or https://: ${shortened(text)}`)
  // Not the text, which contains the password.
  if (url.username !== '' || url.password !== '') {
    throw refusal(`the URL of ${url.host} must not contain a user or password; a header may have them`)
  }
  if (blockedPorts.has(Number(portOf(url)))) throw refusal(`port ${portOf(url)} of ${url.hostname} is not one for http`)
  url.hash = ''
  return url
}

/**
 * Where a redirect leads, if it stays on the host: at the same origin, or from http to https.
 *
 * @throws OutgoingError for other hosts and ports, and for what `outgoingUrl` refuses. It is not final, because the receiver may correct it
 */
export function redirectedUrl(from: URL, location: string, status: number): URL {
  const elsewhere = (where: string): OutgoingError =>
    new OutgoingError(
      `${from.host} redirects with ${status} to ${shortened(where)}; only redirects within the same host are followed`,
      { status },
    )
  if (!URL.canParse(location, from.href)) throw elsewhere(location)
  const target = new URL(location, from)
  const isUpgrade = from.protocol === 'http:' && target.protocol === 'https:'
  const hasDefaultPorts = from.port === '' && target.port === ''
  const isSame = target.origin === from.origin || (isUpgrade && hasDefaultPorts && target.hostname === from.hostname)
  if (!isSame || target.username !== '' || target.password !== '') throw elsewhere(target.origin)
  target.hash = ''
  return target
}

/** The host of a URL, without the brackets of IPv6. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '')

const portOf = ({ port, protocol }: URL): string => (port === '' ? (defaultPorts.get(protocol) ?? '') : port)

/** The beginning of a text up to its path: paths, queries and passwords may be secret. */
function shortened(text: string): string {
  const [beginning = ''] = /^(?:[a-z][a-z\d+.-]*:)?\/{0,2}[^/?#\\]*/i.exec(text) ?? []
  const shown = beginning.replace(/[^/]*@/, '…@').slice(0, 200)
  return shown.length < text.length ? `${shown}…` : shown
}
