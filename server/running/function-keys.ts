// The keys that functions get: those of the settings, those for development, or tokens that this server signs.
import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import type { JwtVerifier } from '../identity/jwt/jwt.ts'
import { TokenSigner } from '../identity/jwt/token-signer.ts'
import { parseRoleClaim, roleInClaims } from '../identity/role-claim/role-claim.ts'
import type { FunctionKeys } from '../services/functions/function-environment.ts'
import { keysFile, readDevelopmentKeys } from './development-keys-file.ts'

export type FunctionKeysOptions = {
  readonly current: () => Config
  /** A new one when the keys of tokens have changed. */
  readonly verifier: () => JwtVerifier
  /** Whether the embedded database is used, whose keys are in the data folder. */
  readonly isEmbedded: boolean
  /** Milliseconds since 1970. */
  readonly now?: () => number
}

/** Seconds that a signed key is valid, and after which a new one takes its place. */
const validity = { valid: 30 * 86_400, fresh: 86_400 }
const second = 1000

type Signed = { readonly verifier: JwtVerifier; readonly signedAt: number; readonly keys: Promise<FunctionKeys> }

/** @returns reads the keys; the same ones as long as they are valid */
export function functionKeys({ current, verifier, isEmbedded, now = Date.now }: FunctionKeysOptions) {
  const signer = new TokenSigner(current)
  let signed: Signed | undefined
  const sign = async (role: string, signedAt: number): Promise<string | undefined> =>
    signer.sign(JSON.stringify({ iss: 'rowhouse', role, iat: signedAt, exp: signedAt + validity.valid }))
  const signBoth = async (signedAt: number): Promise<FunctionKeys> => {
    const { dbAnonRole, jwtRoleClaimKey } = current()
    const claim = parseRoleClaim(jwtRoleClaimKey)
    // The role would not be found where it is.
    if (claim.kind === 'invalid' || roleInClaims(claim, { role: 'service_role' }) !== 'service_role') {
      return { anonKey: undefined, serviceRoleKey: undefined }
    }
    return {
      anonKey: dbAnonRole === null ? undefined : await sign(dbAnonRole, signedAt),
      serviceRoleKey: await sign('service_role', signedAt),
    }
  }
  const signedKeys = (): Promise<FunctionKeys> => {
    const time = Math.floor(now() / second)
    const last = signed
    if (last?.verifier === verifier() && time >= last.signedAt && time < last.signedAt + validity.fresh) {
      return last.keys
    }
    signed = { verifier: verifier(), signedAt: time, keys: signBoth(time) }
    return signed.keys
  }
  return async (): Promise<FunctionKeys> => {
    const { functionsAnonKey, functionsServiceRoleKey, dataDir } = current()
    const given = { anonKey: functionsAnonKey ?? undefined, serviceRoleKey: functionsServiceRoleKey ?? undefined }
    if (given.anonKey !== undefined && given.serviceRoleKey !== undefined) return given
    const development = isEmbedded ? await readDevelopmentKeys(join(dataDir, keysFile)) : null
    const others: FunctionKeys = development
      ? { anonKey: development.publishableKey, serviceRoleKey: development.secretKey }
      : await signedKeys()
    return {
      anonKey: given.anonKey ?? others.anonKey,
      serviceRoleKey: given.serviceRoleKey ?? others.serviceRoleKey,
    }
  }
}
