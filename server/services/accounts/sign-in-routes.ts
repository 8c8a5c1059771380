// `/auth/signup`, `/auth/signin`, `/auth/signout` and `/auth/token`.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { clientAddress, clientNetwork } from '../../http/client-address.ts'
import { Failure, failures } from '../../http/envelope.ts'
import { defineEnvelopeRoute, type Access } from '../../http/envelope-dialect.ts'
import type { Route } from '../../http/route.ts'
import { done, dto, failure, success } from '../../http/service-response.ts'
import type { TokenSigner } from '../../identity/jwt/token-signer.ts'
import { accessTokens, type TokenSettings } from './access-token.ts'
import {
  createAccount,
  findAccount,
  findPassword,
  normalisedEmail,
  replaceHash,
  userDto,
  type FoundAccount,
} from './account.ts'
import type { AccountRules } from './account-rules.ts'
import { addressTaken, clearsCookie, setsCookie, tooMany } from './account-response.ts'
import type { AttemptLimits } from './attempt-limit.ts'
import type { Passwords } from './password.ts'
import { attemptPassword } from './password-attempt.ts'
import { currentHash, type StoredHash } from './rehash.ts'
import { endingSession, everyone, signedIn } from './session-access.ts'
import { clearSessionCookies } from './session-cookie.ts'
import { workClient } from './work-client.ts'
import { beginSession, revokeSession, revokeSessionsOf, type Session, type SessionSettings } from './session.ts'

export type SignInSettings = SessionSettings & {
  readonly passwords: Passwords
  readonly limits: AttemptLimits
  readonly rules: AccountRules
  /** Read for each token. */
  readonly tokens: () => TokenSettings
  /** Shared with `/auth/v1`. */
  readonly signer: TokenSigner
}

/** `schemas/sign-up-dto.json` and `schemas/sign-in-dto.json`. */
type SignInDto = { readonly email: string; readonly password: string }
type SignUpDto = SignInDto & { readonly firstName?: string; readonly lastName?: string }

const replaces = 'Ends the session of the request, if it has one: the new session replaces it.'

export function signInRoutes(settings: SignInSettings): readonly Route[] {
  const { query, passwords, limits, rules, trustedProxies } = settings
  const createToken = accessTokens(settings.tokens, settings.signer, rules.customClaims)

  const storedHash = (userId: string): StoredHash => ({
    replace: (old, replacement) => replaceHash(query, userId, old, replacement),
    find: () => findPassword(query, userId),
  })

  return [
    defineEnvelopeRoute({
      method: 'post',
      path: '/auth/signup',
      id: 'signUp',
      tag: 'accounts',
      summary: 'Create an account, and sign in',
      description: `The address is no claim of yours until you have confirmed it, with the mail that the server sends if it can. ${replaces}`,
      access: everyone(settings),
      body: dto<SignUpDto>('SignUpDto'),
      success: success(201, 'The new account.', dto('UserDto'), { headers: setsCookie }),
      errors: {
        403: failure('Sign-up is disabled, or the request comes from a page of another site.'),
        409: addressTaken,
        429: tooMany,
      },
      handler: async ({ body, request, response }) => {
        const email = normalisedEmail(body.email)
        const { password: secret, firstName = null, lastName = null } = body
        await limits.register(email, clientNetwork(request, trustedProxies))
        const parts = await rules.admitSignUp(request, { email, password: secret, firstName, lastName })
        const passwordHash = await passwords.for(workClient(request, trustedProxies)).hash(secret)
        const ip = clientAddress(request, trustedProxies)
        const account = await createAccount(query, { email, passwordHash, firstName, lastName, ip, parts })
        if (!account) throw failures.addressTaken()
        await rules.signedUp(request, { id: account.id, passwordHash })
        const password = { userId: account.id, passwordHash }
        if (!(await beginSession(request, response, password, settings))) throw failures.notSignedIn()
        await revokeSessionsOf(request, settings)
        return { details: userDto(account) }
      },
    }),
    defineEnvelopeRoute({
      method: 'post',
      path: '/auth/signin',
      id: 'signIn',
      tag: 'accounts',
      summary: 'Sign in',
      description: replaces,
      access: everyone(settings),
      body: dto<SignInDto>('SignInDto'),
      success: success(200, 'Signed in.', dto('UserDto'), {
        message: 'user signed in successfully',
        headers: setsCookie,
      }),
      errors: {
        401: failure('Email or password is incorrect.'),
        403: failure(
          'Sign-in with a password is disabled, the account is banned, its address is not confirmed yet, or the request comes from a page of another site.',
        ),
        429: tooMany,
      },
      handler: async ({ body, request, response }) => {
        rules.admitSignIn()
        const address = normalisedEmail(body.email)
        const hashing = passwords.for(workClient(request, trustedProxies))
        const account = await attemptPassword(
          { passwords: hashing, limits, reportAttempt: rules.reportAttempt },
          { password: body.password, address, network: clientNetwork(request, trustedProxies) },
          () => findAccount(query, address),
        )
        if (!account) throw failures.wrongCredentials()
        requireAccess(account)
        const { id: userId, passwordHash } = account
        const hash = await currentHash(hashing, body.password, passwordHash, storedHash(userId))
        await rules.signedIn(userId)
        if (!(await beginSession(request, response, { userId, passwordHash: hash }, settings)))
          throw failures.wrongCredentials()
        await revokeSessionsOf(request, settings)
        return { message: 'user signed in successfully', details: userDto(account) }
      },
    }),
    defineEnvelopeRoute({
      method: 'post',
      path: '/auth/signout',
      id: 'signOut',
      tag: 'accounts',
      summary: 'Sign out',
      access: signingOut(settings),
      success: done('Signed out.', clearsCookie),
      handler: async ({ caller, request, response }) => {
        await revokeSession(request, caller, settings)
        clearSessionCookies(response, settings)
        return { message: 'user logged out successfully' }
      },
    }),
    defineEnvelopeRoute({
      method: 'post',
      path: '/auth/token',
      id: 'createToken',
      tag: 'accounts',
      summary: 'Get a token for the REST API',
      description: 'The token acts for the user until it expires, but no longer than the session.',
      access: signedIn(settings),
      success: success(200, 'The token.', dto('AccessTokenDto')),
      errors: { 501: failure('The keys of the settings cannot sign tokens.') },
      handler: async ({ caller }) => ({ details: await createToken(caller) }),
    }),
  ]
}

/**
 * The caller has sent the right password, so the message may say why the account cannot sign in.
 *
 * @throws Failure 403
 */
function requireAccess({ isBanned, isConfirmed }: FoundAccount): void {
  if (isBanned) throw new Failure(403, 'This account is banned')
  if (!isConfirmed) throw new Failure(403, 'Confirm your e-mail address first: see the message that was sent to it')
}

/** Deletes cookies without a session, too, but not when the session cannot be looked up. */
function signingOut(settings: SessionSettings): Access<Session> {
  const access = endingSession(settings)
  return {
    ...access,
    identify: async (request: IncomingMessage, response: ServerResponse) => {
      try {
        return await access.identify(request, response)
      } catch (error) {
        if (error instanceof Failure && error.statusCode === 401) clearSessionCookies(response, settings)
        throw error
      }
    },
  }
}
