// What people see of requests to other servers: without what may be a secret.
import type { HiddenHeaders } from './webhook-protocol.ts'

/** Headers of requests whose values are shown. Any other may be a secret, whatever its name. */
const harmlessHeaders =
  /^(?:accept|accept-.*|cache-control|content-.*|traceparent|user-agent|webhook-.*|x-request-id)$/i
/** Headers of responses whose values are not shown. */
const secretHeaders = /^set-cookie$|auth|cookie|secret|token|api-?key|password|session/i
/** Parameters of URLs whose values are not shown. */
const secretParameter = /auth|key|pass|secret|sig|token|code|credential/i

/** Headers of a request. @param headers an object of names and values */
export const requestHeaders = (headers: unknown): HiddenHeaders => hidden(headers, (name) => harmlessHeaders.test(name))

/** Headers of a response. @param headers an object of names and values */
export const responseHeaders = (headers: unknown): HiddenHeaders => hidden(headers, (name) => !secretHeaders.test(name))

function hidden(headers: unknown, isShown: (name: string) => boolean): HiddenHeaders {
  if (typeof headers !== 'object' || headers === null) return []
  return Object.entries(headers).map(([name, value]) => [name, isShown(name) ? String(value) : null])
}

/** The headers as an object, in which `…` takes the place of hidden values. */
export const shownHeaders = (headers: HiddenHeaders): Readonly<Record<string, string>> =>
  Object.fromEntries(headers.map(([name, value]) => [name, value ?? '…']))

/** A URL without password, and without values of its parameters that may be secrets. It may be invalid. */
export function urlWithoutSecrets(url: string): string {
  const [address = '', ...rest] = url.replace(/\/\/[^/?#]*@/, '//…@').split('?')
  if (rest.length === 0) return address
  return `${address}?${rest.join('?').replace(/([^&=#]+)=([^&#]*)/g, withoutSecret)}`
}

const withoutSecret = (parameter: string, name: string): string =>
  secretParameter.test(name) ? `${name}=…` : parameter
