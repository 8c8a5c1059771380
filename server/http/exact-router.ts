// Express routers that distinguish upper and lower case, as the paths of URLs do (RFC 3986, section 6.2.2.1).
import type { Router } from 'express'
import { loadExpress } from './express.ts'

/**
 * A router for which `/Verify` is another path than `/verify`. Express's default would serve both, so that whatever reads the
 * path itself, such as a proxy that protects `/auth/v1/admin`, would take them for different ones.
 */
export const exactRouter = (): Router => loadExpress().Router({ caseSensitive: true })

/**
 * Whether Express reads another path in a request target than it says: it parses targets with these characters as a browser
 * does, which drops `#…` and white space, and takes a backslash for a slash. A target in absolute form must have been
 * shortened before. RFC 9112, section 3.2, permits none of them.
 */
export function isAmbiguous(target: string): boolean {
  const query = target.indexOf('?')
  return !/^\/[^#\\\s\ufeff]*$/.test(query < 0 ? target : target.slice(0, query))
}
