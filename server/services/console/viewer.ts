// As whom the console looks: roles that the server can take, and users, by tokens of a few minutes.
import { Failure } from '../../http/envelope.ts'
import type { Identity } from '../../identity/identity.ts'
import { isInternalRole } from '../../identity/internal-role.ts'
import { TokenSigner } from '../../identity/jwt/token-signer.ts'
import type { Database } from '../../postgres/database.ts'
import { accountIdentity } from '../accounts/account-identity.ts'
import { authAdmin } from '../auth/auth-database.ts'
import type { ConsoleSettings } from './console-settings.ts'
import type { TokenRequest, ViewerToken } from './protocol.ts'

/** What finds identities. */
type ViewerSettings = { readonly database: Pick<Database, 'query' | 'transaction'> }

/** Seconds. */
const lifetime = 300

/** The roles that requests may have, without the server's own. */
export async function viewerRoles({ database }: ViewerSettings): Promise<readonly string[]> {
  const rows = await database.query(
    `select rolname as name from pg_catalog.pg_roles
     where pg_catalog.pg_has_role(session_user, oid, 'member') and rolname <> session_user
       and not rolsuper and rolname not like 'pg\\_%'
     order by rolname = 'service_role', rolname`,
    [],
  )
  return rows.map(({ name }) => String(name)).filter((name) => !isInternalRole(name))
}

/**
 * The identity of a role without further claims, or of a user as after a sign-in with a password.
 *
 * @throws Failure 404 for a role that requests cannot have, or a user that does not exist
 */
export async function viewerIdentity(settings: ViewerSettings, viewer: TokenRequest): Promise<Identity> {
  if ('role' in viewer) {
    if (!(await viewerRoles(settings)).includes(viewer.role)) {
      throw new Failure(404, `Requests cannot have the role ${viewer.role}`)
    }
    return { role: viewer.role, claims: { role: viewer.role } }
  }
  const { user } = viewer
  const identity = await settings.database.transaction(
    authAdmin,
    (query) => accountIdentity(query, { id: user }),
    'read',
  )
  if (!identity) throw new Failure(404, `There is no user with the id ${user}`)
  return identity
}

/** Signs tokens of viewers. */
export function createViewerTokens(settings: ConsoleSettings): (viewer: TokenRequest) => Promise<ViewerToken> {
  const signer = new TokenSigner(() => settings.snapshot().config)
  return async (viewer) => {
    const { claims } = await viewerIdentity(settings, viewer)
    const now = Math.floor(Date.now() / 1000)
    const { jwtAud } = settings.snapshot().config
    const token = await signer.sign(
      JSON.stringify({ ...claims, ...(jwtAud === null ? {} : { aud: jwtAud }), iat: now, exp: now + lifetime }),
    )
    if (token === undefined) throw new Failure(503, 'The settings have no key that signs tokens: set GOTRUE_JWT_KEYS')
    return { token, expires_at: now + lifetime }
  }
}
