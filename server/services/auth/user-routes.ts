// GET and PUT /user: the account of the caller.
import { dto } from '../../http/service-response.ts'
import { userSchema } from './account-schemas.ts'
import { AuthError } from './auth-error.ts'
import type { AccessClaims } from './auth-caller.ts'
import { defineAuthRoute, type AuthRoute } from './dialect.ts'
import { namedAudience } from './request-origin.ts'
import { updateUser, type UpdateUserBody } from './user-update.ts'

export const userRoutes: readonly AuthRoute[] = [
  defineAuthRoute({
    method: 'get',
    path: '/user',
    id: 'authGetUser',
    summary: 'Your account',
    caller: 'user',
    allowsClients: true,
    success: [200, 'The user.'],
    schema: userSchema,
    handler: ({ caller, request }) => {
      requireAudience(caller.claims, namedAudience(request))
      return { text: caller.text }
    },
  }),
  defineAuthRoute({
    method: 'put',
    path: '/user',
    id: 'authUpdateUser',
    summary: 'Change your e-mail address, phone number, password or metadata',
    description:
      'Members of `data` are merged into the metadata; null deletes one. A new address is confirmed first. A new ' +
      'password ends all other sessions.',
    caller: 'user',
    limit: 'otp',
    secrets: ['nonce', 'password'],
    body: dto<UpdateUserBody>('AuthUpdateUserDto'),
    success: [200, 'The user as it is now.'],
    schema: userSchema,
    errors: {
      409: 'The password was changed at the same time.',
      422: 'The address is taken, or the password is weak or the same as before.',
      429: 'Too many requests, or too many mails.',
    },
    handler: updateUser,
  }),
]

/** @param wanted the audience that the request names, if it does */
function requireAudience({ aud }: AccessClaims, wanted: string | undefined): void {
  const [own] = typeof aud === 'string' ? [aud] : (aud ?? [])
  if (wanted === undefined || wanted === own) return
  throw new AuthError(400, 'validation_failed', "Token audience doesn't match request audience")
}
