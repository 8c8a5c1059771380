// Which function a request target names, and what follows its name.
import { functionErrors } from './function-error.ts'
import { functionName } from './function-project.ts'
import { functionsPath } from './dialect.ts'

export type CallTarget = {
  readonly name: string
  /** Path and query as the function sees them: `/name/more?query`. */
  readonly target: string
}

const prefix = `${functionsPath}/`

/**
 * Reads a request target. Segments `.` and `..` are resolved first, so that the function whose token is verified is the one
 * that is called, whatever a server of one's own makes of them.
 *
 * @throws FunctionError 404
 */
export function callTargetOf(requestTarget: string): CallTarget {
  // Two slashes at the beginning would name a host.
  const base = 'http://localhost'
  const text = `${base}${requestTarget.startsWith('/') ? '' : '/'}${requestTarget}`
  const { pathname, search } = URL.canParse(text) ? new URL(text) : new URL(base)
  if (!pathname.startsWith(prefix)) throw functionErrors.noName()
  const path = pathname.slice(functionsPath.length)
  const [, name = ''] = path.split('/', 2)
  if (name === '') throw functionErrors.noName()
  if (!functionName.test(name) || hasHiddenDots(path)) throw functionErrors.notFound()
  return { name, target: `${path}${search}` }
}

/** Whether a path has a segment `..` for servers that decode slashes before they resolve segments. */
function hasHiddenDots(path: string): boolean {
  if (!/%(?:2f|5c|25)/i.test(path)) return false
  let decoded = path
  // Some servers decode twice.
  for (let time = 0; time < 2; time++) {
    try {
      decoded = decodeURIComponent(decoded)
    } catch {
      break
    }
    if (/(?:^|[\\/])\.\.?(?:[\\/]|$)/.test(decoded)) return true
  }
  return false
}
