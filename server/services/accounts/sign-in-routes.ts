// `/auth/signup`, `/auth/signin`, `/auth/signout` and `/auth/token`.
import type { Request, Response } from 'express'
import { clientNetwork } from '../../http/client-address.ts'
import { Failure, failures } from '../../http/envelope.ts'
import { defineRoute, type Access, type Route } from '../../http/route.ts'
import { done, dto, failure, success } from '../../http/service-response.ts'
import { accessTokens, type TokenSettings } from './access-token.ts'
import { createAccount, findAccount, normalisedEmail, userDto } from './account.ts'
import { addressTaken, clearsCookie, tooMany } from './account-response.ts'
import type { AttemptLimits } from './attempt-limit.ts'
import type { Passwords } from './password.ts'
import { endingSession, everyone, signedIn } from './session-access.ts'
import { clearSessionCookies } from './session-cookie.ts'
import { beginSession, revokeSession, revokeSessionsOf, type Session, type SessionSettings } from './session.ts'

export type SignInSettings = SessionSettings & {
  readonly trustedProxies: number
  readonly passwords: Passwords
  readonly limits: AttemptLimits
  /** Read for each token. */
  readonly tokens: () => TokenSettings
}

/** `schemas/sign-up-dto.json` and `schemas/sign-in-dto.json`. */
type SignInDto = { readonly email: string; readonly password: string }
type SignUpDto = SignInDto & { readonly firstName: string; readonly lastName?: string }

const replaces = 'Ends the session of the request, if it has one: the new session replaces it.'
const setsCookie = { 'Set-Cookie': 'The cookie `session`, and `__Host-session` when cookies are secure.' }

export function signInRoutes(settings: SignInSettings): readonly Route[] {
  const { query, passwords, limits, trustedProxies } = settings
  const createToken = accessTokens(settings.tokens)
  return [
    defineRoute({
      method: 'post',
      path: '/auth/signup',
      id: 'signUp',
      tag: 'accounts',
      summary: 'Create an account, and sign in',
      description: replaces,
      access: everyone(settings),
      body: dto<SignUpDto>('SignUpDto'),
      success: success(201, 'The new account.', dto('UserDto'), { headers: setsCookie }),
      errors: { 409: addressTaken, 429: tooMany },
      handler: async ({ body, request, response }) => {
        const email = normalisedEmail(body.email)
        await limits.register(email, clientNetwork(request, trustedProxies))
        const passwordHash = await passwords.hash(body.password)
        const { firstName, lastName = null } = body
        const account = await createAccount(query, { email, passwordHash, firstName, lastName })
        if (!account) throw failures.addressTaken()
        if (!(await beginSession(response, account.id, passwordHash, settings))) throw failures.notSignedIn()
        await revokeSessionsOf(request, settings)
        return { details: userDto(account) }
      },
    }),
    defineRoute({
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
      errors: { 401: failure('Email or password is incorrect.'), 429: tooMany },
      handler: async ({ body, request, response }) => {
        const email = normalisedEmail(body.email)
        const attempt = await limits.guess(email, clientNetwork(request, trustedProxies))
        const account = await findAccount(query, email)
        const right = await passwords.verify(account?.passwordHash, body.password)
        if (!account || !right) throw failures.wrongCredentials()
        if (!(await beginSession(response, account.id, account.passwordHash, settings))) {
          throw failures.wrongCredentials()
        }
        await revokeSessionsOf(request, settings)
        await attempt.giveBack()
        return { message: 'user signed in successfully', details: userDto(account) }
      },
    }),
    defineRoute({
      method: 'post',
      path: '/auth/signout',
      id: 'signOut',
      tag: 'accounts',
      summary: 'Sign out',
      access: signingOut(settings),
      success: done('Signed out.', clearsCookie),
      handler: async ({ caller, response }) => {
        await revokeSession(caller, query)
        clearSessionCookies(response, settings)
        return { message: 'user logged out successfully' }
      },
    }),
    defineRoute({
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

/** Deletes cookies without a session, too, but not when the session cannot be looked up. */
function signingOut(settings: SessionSettings): Access<Session> {
  const access = endingSession(settings)
  return {
    ...access,
    identify: async (request: Request, response: Response) => {
      try {
        return await access.identify(request, response)
      } catch (error) {
        if (error instanceof Failure && error.statusCode === 401) clearSessionCookies(response, settings)
        throw error
      }
    },
  }
}
