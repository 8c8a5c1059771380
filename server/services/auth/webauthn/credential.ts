// What browsers send after `navigator.credentials.create` and `get`, and what is stored of it.

/**
 * `schemas/auth-public-key-credential-dto.json`: the answer of an authenticator. Binary members are base64url.
 * https://www.w3.org/TR/webauthn-3/#dictdef-registrationresponsejson
 */
export type CredentialDto = {
  /** The id that the authenticator has chosen. */
  readonly id: string
  readonly rawId?: string
  readonly type?: string
  readonly response: {
    readonly clientDataJSON: string
    /** Of a new credential. */
    readonly attestationObject?: string
    readonly transports?: readonly string[]
    /** Of a signature. */
    readonly authenticatorData?: string
    readonly signature?: string
    readonly userHandle?: string | null
  }
}

/** A credential that was created just now, and verified. */
export type NewCredential = {
  readonly id: Buffer
  /** COSE_Key */
  readonly publicKey: Buffer
  /** The model of the authenticator, as it says itself; the nil UUID if it does not. */
  readonly aaguid: string
  readonly signCount: number
  readonly transports: readonly string[]
  readonly userVerified: boolean
  readonly backupEligible: boolean
  readonly backedUp: boolean
}

/** What a signature was verified to say. */
export type Assertion = {
  /** Number of signatures that the authenticator has made; 0 if it does not count. */
  readonly signCount: number
  readonly backupEligible: boolean
  readonly backedUp: boolean
}

/** A credential that browsers may, or may not, use. */
export type KnownCredential = {
  /** base64url */
  readonly id: string
  readonly transports: readonly string[]
}

/** An answer that is not valid. The message says why, as part of a sentence. */
export class InvalidCredential extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause })
    this.name = 'InvalidCredential'
  }
}
