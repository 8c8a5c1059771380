// Whether users may link identities to their accounts themselves.
import type { AuthContext } from '../auth-context.ts'
import { AuthError } from '../auth-error.ts'

/** @throws AuthError 404 `manual_linking_disabled` */
export function requireManualLinking({ settings }: Pick<AuthContext, 'settings'>): void {
  if (!settings().authManualLinkingEnabled) {
    throw new AuthError(404, 'manual_linking_disabled', 'Manual linking is disabled')
  }
}
