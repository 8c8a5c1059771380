// Tokens that servers of tests accept.
import { SignJWT } from 'jose'
import { jwtSecret } from './application.ts'

type Claims = Readonly<Record<string, unknown>>

/** A token with exactly these claims, signed with the secret of `startApplication`. */
export const signToken = (claims: Claims): Promise<string> =>
  new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(new TextEncoder().encode(jwtSecret))

/** The `Authorization` header of a role. */
export const bearer = async (role: string, claims: Claims = {}): Promise<string> =>
  `Bearer ${await signToken({ role, ...claims })}`
