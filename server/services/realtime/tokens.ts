// Whose connections and channels are: API keys and JWTs.
import { hashApiKey, isApiKey } from '../../identity/api-key/api-key.ts'
import { CredentialError } from '../../identity/credential-error.ts'
import type { Identity } from '../../identity/identity.ts'
import { permitted } from '../../identity/internal-role.ts'
import type { JwtVerifier } from '../../identity/jwt/jwt.ts'
import type { Database } from '../../postgres/database.ts'
import { namedSession, type NamedSession } from '../../rest/sql/session.ts'
import { TracelessError } from '../../common/traceless-error.ts'
import { isActiveSession, type CredentialChecks } from '../session-check.ts'
import { ChannelRefused, RealtimeError, type JoinCode } from './realtime-error.ts'

/** A valid API key or JWT. */
export type Credential = {
  readonly token: string
  readonly identity: Identity
  /** Seconds since 1970; infinite for an API key. */
  readonly expiresAt: number
  readonly session: NamedSession | undefined
  /** Hexadecimal hash of an API key. */
  readonly keyHash: string | undefined
}

type Problem =
  'missing' | 'expired' | 'no claims' | 'malformed' | 'signature' | 'signer' | 'ended' | 'refused' | 'unavailable'

/** A token is not valid. The message is for the client. */
export class TokenRefused extends TracelessError {
  readonly problem: Problem

  constructor(problem: Problem, message: string, cause?: unknown) {
    super(message, cause)
    this.name = 'TokenRefused'
    this.problem = problem
  }
}

const codes: Readonly<Record<Problem, JoinCode>> = {
  missing: 'MalformedJWT',
  expired: 'InvalidJWTToken',
  'no claims': 'InvalidJWTToken',
  malformed: 'MalformedJWT',
  signature: 'JwtSignatureError',
  signer: 'JwtSignerError',
  ended: 'InvalidJWTToken',
  refused: 'InvalidJWTToken',
  unavailable: 'UnableToConnectToProject',
}

/** The error of a join. Errors that do not concern the token stay. */
export const joinError = (error: unknown): unknown =>
  error instanceof TokenRefused ? new ChannelRefused(codes[error.problem], error.message, error.cause) : error

/** The refusal of a handshake. */
export function handshakeError(error: unknown): RealtimeError {
  if (error instanceof RealtimeError) return error
  if (!(error instanceof TokenRefused) || error.problem === 'unavailable') {
    return new RealtimeError(500, { error: 'Error connecting to Realtime' }, error)
  }
  return new RealtimeError(401, { error: error.problem === 'expired' ? 'Token has expired' : error.message })
}

/** The text of a token that has expired. */
export const expiredText = (expiresAt: number, now: number): string =>
  `Token has expired ${Math.max(0, Math.floor(now / 1000) - expiresAt)} seconds ago`

export type Tokens = {
  /** @throws TokenRefused */
  readonly verify: (token: string | undefined) => Promise<Credential>
  /** Whether sessions were not checked since the last call, because the settings said so. */
  readonly takeUnchecked: () => boolean
}

export function createTokens(options: CredentialChecks): Tokens {
  let hasUnchecked = false
  return {
    verify: async (given) => {
      const token = cleaned(given)
      if (token === undefined) throw new TokenRefused('missing', 'API key is missing')
      if (token === '') throw new TokenRefused('malformed', malformed)
      if (isApiKey(token)) return keyCredential(token, options)
      const identity = await verified(token, options.verifier())
      const { exp } = identity.claims
      const now = Date.now()
      if (typeof exp !== 'number' || !hasRole(identity, options.verifier())) throw noClaims()
      const expiresAt = Math.round(exp)
      if (expiresAt * 1000 <= now) throw new TokenRefused('expired', expiredText(expiresAt, now))
      const session = namedSession(identity)
      if (session && options.checksSessions()) await checkSession(session, options.database)
      else if (session) hasUnchecked = true
      return { token, identity, expiresAt, session, keyHash: undefined }
    },
    takeUnchecked: () => {
      const had = hasUnchecked
      hasUnchecked = false
      return had
    },
  }
}

/** Some clients encode the token twice, or break it into lines. */
function cleaned(token: string | undefined): string | undefined {
  if (token === undefined || !/[%\s]/.test(token)) return token
  try {
    return decodeURIComponent(token).replace(/\s/g, '')
  } catch {
    return token.replace(/\s/g, '')
  }
}

const noClaims = (): TokenRefused => new TokenRefused('no claims', 'Fields `role` and `exp` are required in JWT')

/** Whether the token names a role, wherever its claim is. */
const hasRole = ({ claims, role }: Identity, { settings }: JwtVerifier): boolean =>
  claims.role !== undefined || role !== settings.dbAnonRole

async function keyCredential(token: string, { lookupApiKey }: CredentialChecks): Promise<Credential> {
  const identity = await refusing(async () => permitted(await lookupApiKey(token)))
  return {
    token,
    identity,
    expiresAt: Infinity,
    session: undefined,
    keyHash: hashApiKey(token).toString('hex'),
  }
}

async function verified(token: string, verifier: JwtVerifier): Promise<Identity> {
  return refusing(async () => permitted(await verifier.verify(token)), token)
}

async function refusing(verify: () => Promise<Identity>, token = ''): Promise<Identity> {
  try {
    return await verify()
  } catch (error) {
    throw error instanceof CredentialError ? tokenRefused(error, token) : unavailable(error)
  }
}

const malformed = 'The token provided is not a valid JWT'
const noSigner = 'Failed to generate JWT signer, check your JWT secret or JWKS configuration'

function tokenRefused(error: CredentialError, token: string): TokenRefused {
  const { message, details, problem } = error
  if (message === 'JWT expired') return new TokenRefused('expired', expiredText(expiryIn(token), Date.now()))
  if (problem === 'no secret') return new TokenRefused('signer', noSigner)
  if (details === 'None of the keys was able to decode the JWT') {
    return new TokenRefused('signature', 'Failed to validate JWT signature')
  }
  if (details === 'No suitable key was found to decode the JWT' || message.startsWith('Wrong or unsupported')) {
    return new TokenRefused('signer', noSigner)
  }
  if (token === '' || problem !== 'invalid token') return new TokenRefused('refused', message)
  return new TokenRefused('malformed', malformed)
}

/** The claim `exp` of a token whose signature is valid. */
function expiryIn(token: string): number {
  const [, payload = ''] = token.split('.', 2)
  const { exp } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as { readonly exp?: unknown }
  return typeof exp === 'number' ? Math.round(exp) : 0
}

async function checkSession(session: NamedSession, database: Pick<Database, 'runWith'>): Promise<void> {
  const isActive = await isActiveSession(session, database).catch((error: unknown) => {
    throw unavailable(error)
  })
  if (!isActive) throw new TokenRefused('ended', sessionEnded)
}

export const sessionEnded = 'The session of this token has ended'

const unavailable = (cause: unknown): TokenRefused =>
  new TokenRefused('unavailable', 'Realtime was unable to connect to the project database', cause)
