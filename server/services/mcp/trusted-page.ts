// Which pages may be clients of the protocol. A page of an attacker can reach a server of the same machine by its own host name
// (DNS rebinding), so that `Host` does not say whose page it is.
import { isLoopbackHost } from '../../text/loopback-host.ts'

export type PageSettings = {
  /** Origins of the settings. */
  readonly allowedOrigins: readonly string[]
  readonly apiExternalUrl: string | null
}

/** Whether an `Origin` is that of a page on the same machine, of the server's public address, or of the settings. */
export function isTrustedPage(origin: string, { allowedOrigins, apiExternalUrl }: PageSettings): boolean {
  if (allowedOrigins.includes(origin)) return true
  try {
    const url = new URL(origin)
    // Browsers send no other text than an origin, such as one with a path.
    if (url.origin !== origin) return false
    if (apiExternalUrl !== null && new URL(apiExternalUrl).origin === origin) return true
    return /^https?:$/.test(url.protocol) && isLoopbackHost(url.hostname.replace(/^\[(.*)\]$/, '$1'))
  } catch {
    return false
  }
}
