// All routes of `/auth/v1`. Add a line for a new table of routes.
import { adminRoutes } from './admin/admin-routes.ts'
import type { AuthRoute } from './dialect.ts'
import { infoRoutes } from './info-routes.ts'
import { identityRoutes } from './oauth/identity-routes.ts'
import { oauthRoutes } from './oauth/oauth-routes.ts'
import { inviteRoutes } from './mail/invite-routes.ts'
import { mailboxRoutes } from './mail/mailbox-routes.ts'
import { otpRoutes } from './mail/otp-routes.ts'
import { recoverRoutes } from './mail/recover-routes.ts'
import { verifyRoutes } from './mail/verify-routes.ts'
import { factorRoutes } from './mfa/factor-routes.ts'
import { oauthServerRoutes } from './oauth-server/oauth-server-routes.ts'
import { passkeyRoutes } from './passkeys/passkey-routes.ts'
import { refusedRoutes } from './refused-routes.ts'
import { signOutRoutes } from './sign-out-routes.ts'
import { signUpRoutes } from './sign-up-routes.ts'
import { tokenRoutes } from './token-routes.ts'
import { userRoutes } from './user-routes.ts'

export const authRoutes: readonly AuthRoute[] = [
  ...infoRoutes,
  ...signUpRoutes,
  ...tokenRoutes,
  ...userRoutes,
  ...signOutRoutes,
  ...oauthRoutes,
  ...identityRoutes,
  ...otpRoutes,
  ...recoverRoutes,
  ...verifyRoutes,
  ...inviteRoutes,
  ...mailboxRoutes,
  ...factorRoutes,
  ...passkeyRoutes,
  ...oauthServerRoutes,
  ...adminRoutes,
  ...refusedRoutes,
]
