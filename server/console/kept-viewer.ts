// As whom a tab looks, kept for when its page is loaded again. Browsers may refuse storage: nothing is kept then.
import { serviceRole, type Viewer } from './api.ts'
import { isSameViewer } from './viewer.tsx'

const storageKey = 'rowhouse.console.viewer'

/** Keeps the viewer as long as the tab is open. */
export function keepViewer(viewer: Viewer): void {
  try {
    sessionStorage.setItem(storageKey, JSON.stringify(viewer))
  } catch {
    // Storage is full or refused.
  }
}

/**
 * The viewer that was kept; undefined without one. Never the role that bypasses policies, which people choose each time.
 *
 * @param roles those that requests may have
 */
export function keptViewer(roles: readonly string[]): Viewer | undefined {
  try {
    const viewer = JSON.parse(sessionStorage.getItem(storageKey) ?? 'null') as Viewer | null
    if (!viewer || isSameViewer(viewer, serviceRole)) return undefined
    return viewer.kind === 'user' || roles.includes(viewer.role) ? viewer : undefined
  } catch {
    return undefined
  }
}
