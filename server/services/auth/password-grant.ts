// Sign-in with a password.
import { clientNetwork } from '../../http/client-address.ts'
import { JsonStatement } from '../../postgres/json-statement.ts'
import { asciiLowerCase } from '../../text/ascii-case.ts'
import { attemptPassword } from '../accounts/password-attempt.ts'
import { currentHash } from '../accounts/rehash.ts'
import { workClient } from '../accounts/work-client.ts'
import { normalisedPhone } from './addresses.ts'
import { requireConfirmed, requireSignInWith, type ConfirmedAddresses } from './admission.ts'
import { authErrors } from './auth-error.ts'
import { weakPasswordMember } from './password-rules.ts'
import { audienceOf, originOf } from './request-origin.ts'
import { isEmpty } from './request-text.ts'
import { storedHashOf } from './stored-hash.ts'
import type { TokenGrant, TokenCall } from './token-grant.ts'

const findSignIn = new JsonStatement('select auth.find_sign_in($1, $2, $3)', { access: 'read', hasNoEffect: true })
const startSession = new JsonStatement("select auth.start_session($1, 'password', $2, $3, $4, $5)", {
  access: 'write',
})

type SignInRow = ConfirmedAddresses & { readonly password_hash: string | null; readonly banned: boolean }

export const passwordGrant: TokenGrant = {
  limit: 'token_refresh',
  handler: async (call) => {
    const { context, request, body } = call
    const { database, attempts, hooks, sessions } = context
    const settings = context.settings()
    const passwords = context.passwords.for(workClient(request, context.trustedProxies))
    const { provider, address } = addressOf(call)
    const password = body.password ?? ''
    const row = await attemptPassword(
      { passwords, limits: attempts, reportAttempt: hooks.passwordVerificationAttempt },
      { password, address, network: clientNetwork(request, context.trustedProxies) },
      async () => {
        const [found] = (await database.ask(findSignIn, [
          provider === 'email' ? address : null,
          provider === 'phone' ? address : null,
          audienceOf(request, settings),
        ])) as SignInRow[]
        return found && { ...found, passwordHash: found.password_hash ?? undefined }
      },
    )
    if (!row) throw authErrors.invalidCredentials()
    // Only the owner of the password learns these.
    if (row.banned) throw authErrors.userBanned(400)
    await requireConfirmed(provider, row, context)
    const stored = await currentHash(passwords, password, row.passwordHash, storedHashOf(database, row.id))
    const { ip, userAgent } = originOf(request, context)
    const traits = JSON.stringify({ provider })
    const [started] = await database.askRows(startSession, [row.id, ip, userAgent, traits, stored])
    const members = weakPasswordMember(password, settings)
    const { text } = await sessions.respond(started?.[0] ?? '', { method: 'password', members })
    return { text }
  },
}

function addressOf({ body, context }: TokenCall): { readonly provider: 'email' | 'phone'; readonly address: string } {
  const { email, phone } = body
  const settings = context.settings()
  if (!isEmpty(email) && !isEmpty(phone)) {
    throw authErrors.invalid('Only an email address or phone number should be provided on login.')
  }
  if (!isEmpty(email)) {
    requireSignInWith('email', settings)
    return { provider: 'email', address: asciiLowerCase(email) }
  }
  if (!isEmpty(phone)) {
    requireSignInWith('phone', settings)
    return { provider: 'phone', address: normalisedPhone(phone) }
  }
  throw authErrors.invalid('missing email or phone')
}
