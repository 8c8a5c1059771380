// Verifies what authenticators have signed, with @simplewebauthn/server. Counters are compared by the database, because of
// concurrent requests.
import type {
  AuthenticationResponseJSON,
  RegistrationResponseJSON,
  VerifiedRegistrationResponse,
} from '@simplewebauthn/server'
import { signatureAlgorithms } from './algorithms.ts'
import { InvalidCredential, type Assertion, type CredentialDto, type NewCredential } from './credential.ts'
import type { RelyingParty } from './relying-party.ts'

/** Bytes of a credential id: https://www.w3.org/TR/webauthn-3/#credential-id */
const longestId = 1023
/** Bytes of a public key: RSA with 8192 bits has some 1040. */
const longestKey = 1100

type Expected = {
  readonly party: RelyingParty
  /** base64url */
  readonly challenge: string
  /** Whether the authenticator must have verified the user, by a fingerprint, a PIN or the like. */
  readonly verifiesUser: boolean
}

/**
 * Verifies a new credential. Its attestation, which would say who made the authenticator, is ignored.
 *
 * @throws InvalidCredential
 */
export async function verifyCreation(
  credential: CredentialDto,
  { party, challenge, verifiesUser }: Expected,
): Promise<NewCredential> {
  const { attestationObject } = credential.response
  if (attestationObject === undefined) throw new InvalidCredential('response.attestationObject is missing')
  const info = await reasoned(async () => {
    // Loaded at first use: it has the certificates of all attestations.
    const { verifyRegistrationResponse } = await import('@simplewebauthn/server')
    const response = { ...credential.response, attestationObject: await withoutAttestation(attestationObject) }
    return verifyRegistrationResponse({
      response: complete(credential, response) as RegistrationResponseJSON,
      expectedChallenge: challenge,
      expectedOrigin: [...party.origins],
      expectedRPID: party.id,
      requireUserVerification: verifiesUser,
      supportedAlgorithmIDs: [...signatureAlgorithms],
    })
  })
  if (!info.verified) throw new InvalidCredential('the credential is not valid')
  return newCredential(credential, info.registrationInfo)
}

function newCredential(
  { id, response: { transports = [] } }: CredentialDto,
  info: NonNullable<VerifiedRegistrationResponse['registrationInfo']>,
): NewCredential {
  const publicKey = Buffer.from(info.credential.publicKey)
  const bytes = Buffer.from(info.credential.id, 'base64url')
  if (info.credential.id !== id) throw new InvalidCredential('id is not that of the credential')
  if (bytes.length > longestId) throw new InvalidCredential(`the credential id has more than ${longestId} bytes`)
  if (publicKey.length > longestKey) throw new InvalidCredential(`the public key has more than ${longestKey} bytes`)
  return {
    id: bytes,
    publicKey,
    aaguid: info.aaguid,
    signCount: info.credential.counter,
    transports: [...new Set(transports)],
    userVerified: info.userVerified,
    backupEligible: info.credentialDeviceType === 'multiDevice',
    backedUp: info.credentialBackedUp,
  }
}

/**
 * Verifies a signature. The caller has to compare its number with that of the one before.
 *
 * @param publicKey COSE_Key of the credential
 * @throws InvalidCredential
 */
export async function verifyRequest(
  credential: CredentialDto,
  { party, challenge, verifiesUser, publicKey }: Expected & { readonly publicKey: Buffer },
): Promise<Assertion> {
  const { authenticatorData, signature } = credential.response
  if (authenticatorData === undefined) throw new InvalidCredential('response.authenticatorData is missing')
  if (signature === undefined) throw new InvalidCredential('response.signature is missing')
  const { verified, authenticationInfo } = await reasoned(async () => {
    const { verifyAuthenticationResponse } = await import('@simplewebauthn/server')
    return verifyAuthenticationResponse({
      response: complete(credential, credential.response) as AuthenticationResponseJSON,
      expectedChallenge: challenge,
      expectedOrigin: [...party.origins],
      expectedRPID: party.id,
      requireUserVerification: verifiesUser,
      credential: { id: credential.id, publicKey: new Uint8Array(publicKey), counter: 0 },
    })
  })
  if (!verified) throw new InvalidCredential('the signature is not that of the credential')
  return {
    signCount: authenticationInfo.newCounter,
    backupEligible: authenticationInfo.credentialDeviceType === 'multiDevice',
    backedUp: authenticationInfo.credentialBackedUp,
  }
}

/** As the library expects it: clients may leave out what has one possible value. */
const complete = ({ id, rawId = id, type = 'public-key' }: CredentialDto, response: object): object => ({
  id,
  rawId,
  type,
  response,
  clientExtensionResults: {},
})

/**
 * The attestation object without its statement. Statements contain certificates of strangers, with addresses of revocation
 * lists, which must not be requested.
 */
async function withoutAttestation(attestationObject: string): Promise<string> {
  const { decodeAttestationObject, isoCBOR } = await import('@simplewebauthn/server/helpers')
  const authData = decodeAttestationObject(new Uint8Array(Buffer.from(attestationObject, 'base64url'))).get('authData')
  const stripped = new Map<string, unknown>([
    ['fmt', 'none'],
    ['attStmt', new Map()],
    ['authData', authData],
  ])
  return Buffer.from(isoCBOR.encode(stripped as never)).toString('base64url')
}

/** Every error of the library is one of the input. @throws InvalidCredential */
async function reasoned<T>(verify: () => Promise<T>): Promise<T> {
  try {
    return await verify()
  } catch (error) {
    throw new InvalidCredential(error instanceof Error ? error.message : String(error), error)
  }
}
