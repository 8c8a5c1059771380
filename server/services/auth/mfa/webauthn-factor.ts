// Security keys, and passkeys, as second factors.
import type { CredentialDto, KnownCredential, NewCredential } from '../webauthn/credential.ts'
import { InvalidCredential } from '../webauthn/credential.ts'
import { creationOptions, requestOptions } from '../webauthn/options.ts'
import type { RelyingParty } from '../webauthn/relying-party.ts'
import { verifyCreation, verifyRequest } from '../webauthn/verification.ts'
import { authErrors } from '../auth-error.ts'
import type { FactorOwner } from './factor-caller.ts'

/** `create` for a factor that has no credential yet, `request` for any other. */
export type Ceremony = 'create' | 'request'

/**
 * The column `web_authn_credential`, in GoTrue's form, so that those of a Supabase project remain valid. Binary members are Base64.
 */
export type StoredCredential = {
  readonly id: string
  readonly publicKey: string
  readonly attestationType: string
  readonly transport: readonly string[] | null
  readonly flags: {
    readonly userPresent: boolean
    readonly userVerified: boolean
    readonly backupEligible: boolean
    readonly backupState: boolean
  }
  readonly authenticator: { readonly AAGUID: string; readonly signCount: number; readonly cloneWarning: boolean }
}

/** The member `webauthn` of what `auth.begin_factor_challenge` returns. */
export type BegunCeremony = { readonly ceremony: Ceremony; readonly existing: readonly StoredCredential[] }

/** The member `webauthn` of what `auth.attempt_factor_challenge` returns. */
export type AttemptedCeremony = {
  readonly challenge: string
  readonly ceremony: Ceremony
  readonly credential: StoredCredential | null
}

/** The member `webauthn` of `schemas/auth-verify-factor-dto.json`. */
export type FactorAnswerDto = { readonly type?: string | null; readonly credential_response?: CredentialDto | null }

/** An answer that was verified: a new credential, or a signature of the stored one. */
export type VerifiedAnswer = {
  /** Null for a signature. */
  readonly created: { readonly stored: StoredCredential; readonly aaguid: string } | null
  readonly signCount: number
}

/** What a challenge says about its ceremony. @param lifetime seconds */
export function ceremonyOptions(
  party: RelyingParty,
  { id, row: { email, phone } }: FactorOwner,
  {
    challenge,
    lifetime,
    ceremony,
    existing,
  }: BegunCeremony & { readonly challenge: string; readonly lifetime: number },
): { readonly type: Ceremony; readonly credential_options: { readonly publicKey: object } } {
  const known = existing.map(knownCredential)
  const name = [email, phone, id].find((text) => text !== null && text !== '') ?? id
  const publicKey =
    ceremony === 'create'
      ? creationOptions(party, { challenge, user: { id, name, displayName: name }, existing: known, lifetime }, false)
      : requestOptions(party, { challenge, allowed: known, userVerification: 'preferred', lifetime })
  return { type: ceremony, credential_options: { publicKey } }
}

const knownCredential = ({ id, transport }: StoredCredential): KnownCredential => ({
  id: Buffer.from(id, 'base64').toString('base64url'),
  transports: transport ?? [],
})

/**
 * The credential of an answer to a challenge.
 *
 * @throws AuthError 400 `validation_failed`
 */
export function readFactorAnswer(
  answer: FactorAnswerDto | null | undefined,
  { ceremony }: AttemptedCeremony,
): CredentialDto {
  if (!answer) throw authErrors.invalid('WebAuthn config required')
  const { type, credential_response: credential } = answer
  if (type !== 'create' && type !== 'request') throw authErrors.invalid('WebAuthn type must be create or request')
  // With `create`, a stranger's key would pass for that of a verified factor.
  if (type !== ceremony) throw authErrors.invalid(`WebAuthn type must be ${ceremony}, as the challenge says`)
  if (!credential) throw authErrors.invalid('credential_response required')
  return credential
}

/** Verifies an answer. @throws InvalidCredential */
export async function verifyFactorAnswer(
  party: RelyingParty,
  answer: CredentialDto,
  { challenge, ceremony, credential }: AttemptedCeremony,
): Promise<VerifiedAnswer> {
  // Beside the password, possession is enough.
  const expected = { party, challenge, verifiesUser: false }
  if (ceremony === 'create') {
    const created = await verifyCreation(answer, expected)
    return { created: { stored: storedCredential(created), aaguid: created.aaguid }, signCount: created.signCount }
  }
  if (!credential || knownCredential(credential).id !== answer.id) {
    throw new InvalidCredential('the credential is not that of the factor')
  }
  const { signCount } = await verifyRequest(answer, {
    ...expected,
    publicKey: Buffer.from(credential.publicKey, 'base64'),
  })
  return { created: null, signCount }
}

const storedCredential = (created: NewCredential): StoredCredential => ({
  id: created.id.toString('base64'),
  publicKey: created.publicKey.toString('base64'),
  attestationType: 'none',
  transport: created.transports,
  flags: {
    userPresent: true,
    userVerified: created.userVerified,
    backupEligible: created.backupEligible,
    backupState: created.backedUp,
  },
  authenticator: {
    AAGUID: Buffer.from(created.aaguid.replaceAll('-', ''), 'hex').toString('base64'),
    signCount: created.signCount,
    cloneWarning: false,
  },
})
