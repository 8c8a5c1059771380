// What pages pass to `navigator.credentials.create` and `get`.
import { randomBytes } from 'node:crypto'
import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialDescriptorJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/server'
import { signatureAlgorithms } from './algorithms.ts'
import type { KnownCredential } from './credential.ts'
import type { RelyingParty } from './relying-party.ts'

/** A random challenge, as base64url. */
export const newChallenge = (): string => randomBytes(32).toString('base64url')

/**
 * The user handle of an account, which authenticators return with a signature: the bytes of its id as text, as in GoTrue, so that
 * passkeys of a Supabase project remain valid.
 */
export const userHandleOf = (userId: string): string => Buffer.from(userId).toString('base64url')

export type CreationRequest = {
  readonly challenge: string
  readonly user: { readonly id: string; readonly name: string; readonly displayName: string }
  /** Credentials of the account: their authenticators refuse to create another one. */
  readonly existing: readonly KnownCredential[]
  /** Seconds. */
  readonly lifetime: number
}

/**
 * Options to create a credential. No attestation is asked for.
 *
 * @param isPasskey whether the credential has to sign in without a name and without a password: it is discoverable, and the
 *   authenticator verifies the user, by a fingerprint, a PIN or the like. Otherwise the client chooses.
 */
export const creationOptions = (
  { id, name }: RelyingParty,
  { challenge, user, existing, lifetime }: CreationRequest,
  isPasskey: boolean,
): PublicKeyCredentialCreationOptionsJSON => ({
  rp: { id, name },
  user: { ...user, id: userHandleOf(user.id) },
  challenge,
  pubKeyCredParams: signatureAlgorithms.map((alg) => ({ type: 'public-key', alg })),
  timeout: lifetime * 1000,
  ...(existing.length === 0 ? {} : { excludeCredentials: existing.map(descriptorOf) }),
  ...(isPasskey
    ? { authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' } }
    : {}),
  attestation: 'none',
})

export type SignatureRequest = {
  readonly challenge: string
  /** The credentials that may sign; undefined for every discoverable one. */
  readonly allowed?: readonly KnownCredential[]
  readonly userVerification: 'required' | 'preferred'
  /** Seconds. */
  readonly lifetime: number
}

/** Options to sign. */
export const requestOptions = (
  { id }: RelyingParty,
  { challenge, allowed, userVerification, lifetime }: SignatureRequest,
): PublicKeyCredentialRequestOptionsJSON => ({
  challenge,
  timeout: lifetime * 1000,
  rpId: id,
  ...(allowed === undefined ? {} : { allowCredentials: allowed.map(descriptorOf) }),
  userVerification,
})

const descriptorOf = ({ id, transports }: KnownCredential): PublicKeyCredentialDescriptorJSON => ({
  type: 'public-key',
  id,
  ...(transports.length === 0
    ? {}
    : { transports: transports as NonNullable<PublicKeyCredentialDescriptorJSON['transports']> }),
})
