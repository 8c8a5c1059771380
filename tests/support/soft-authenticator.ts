// An authenticator in software, which can be asked to lie.
import { createHash, generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto'
import { isoCBOR } from '@simplewebauthn/server/helpers'
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server'

/** What is signed, in the place of what a browser and an honest authenticator would say. */
export type Lie = {
  readonly origin?: string
  readonly rpId?: string
  readonly challenge?: string
  readonly type?: string
  readonly userHandle?: string
  /** Flags of the authenticator data. https://www.w3.org/TR/webauthn-3/#flags */
  readonly flags?: number
  readonly signCount?: number
  /** Attestation of another format than none. */
  readonly attestation?: { readonly fmt: string; readonly attStmt: Map<string, unknown> }
  /** An algorithm that the key is said to be for. */
  readonly algorithm?: number
  /** Bytes that follow the credential id and the key. */
  readonly tail?: Buffer
}

const userPresent = 0x01
const userVerified = 0x04
const hasCredential = 0x40

const sha256 = (data: string | Buffer): Buffer => createHash('sha256').update(data).digest()

/** A credential of ES256 for one site. */
export class SoftAuthenticator {
  readonly id: Buffer
  readonly #origin: string
  readonly #rpId: string
  readonly #key: KeyObject
  readonly #publicKey: { readonly x: Buffer; readonly y: Buffer }
  #userHandle = ''
  /** Number of signatures so far; undefined for an authenticator that does not count. */
  #count: number | undefined

  constructor({
    origin,
    rpId = new URL(origin).hostname,
    counts = true,
    id = randomBytes(32),
  }: {
    readonly origin: string
    readonly rpId?: string
    readonly counts?: boolean
    readonly id?: Buffer
  }) {
    this.id = id
    this.#origin = origin
    this.#rpId = rpId
    this.#count = counts ? 0 : undefined
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
    this.#key = privateKey
    this.#publicKey = { x: Buffer.from(x, 'base64url'), y: Buffer.from(y, 'base64url') }
  }

  /** As `navigator.credentials.create`. */
  create({ challenge, user }: PublicKeyCredentialCreationOptionsJSON, lie: Lie = {}): RegistrationResponseJSON {
    this.#userHandle = user.id
    const length = Buffer.alloc(2)
    length.writeUInt16BE(this.id.length)
    const publicKey = new Map<number, number | Uint8Array>([
      [1, 2],
      [3, lie.algorithm ?? -7],
      [-1, 1],
      [-2, this.#publicKey.x],
      [-3, this.#publicKey.y],
    ])
    const authData = Buffer.concat([
      this.#authenticatorData({ flags: userPresent | userVerified | hasCredential, ...lie }, lie.signCount ?? 0),
      Buffer.alloc(16),
      length,
      this.id,
      Buffer.from(isoCBOR.encode(publicKey)),
      lie.tail ?? Buffer.alloc(0),
    ])
    const { fmt, attStmt } = lie.attestation ?? { fmt: 'none', attStmt: new Map() }
    const object = new Map<string, unknown>([
      ['fmt', fmt],
      ['attStmt', attStmt],
      ['authData', new Uint8Array(authData)],
    ])
    return {
      id: this.id.toString('base64url'),
      rawId: this.id.toString('base64url'),
      type: 'public-key',
      response: {
        clientDataJSON: this.#clientData({ type: 'webauthn.create', challenge, ...lie }).toString('base64url'),
        attestationObject: Buffer.from(isoCBOR.encode(object as never)).toString('base64url'),
        transports: ['internal', 'hybrid'],
      },
      clientExtensionResults: {},
    }
  }

  /** As `navigator.credentials.get`. */
  get(
    { challenge }: Pick<PublicKeyCredentialRequestOptionsJSON, 'challenge'>,
    lie: Lie = {},
  ): AuthenticationResponseJSON {
    if (this.#count !== undefined) this.#count++
    const data = this.#authenticatorData(
      { flags: userPresent | userVerified, ...lie },
      lie.signCount ?? this.#count ?? 0,
    )
    const clientData = this.#clientData({ type: 'webauthn.get', challenge, ...lie })
    return {
      id: this.id.toString('base64url'),
      rawId: this.id.toString('base64url'),
      type: 'public-key',
      response: {
        authenticatorData: data.toString('base64url'),
        clientDataJSON: clientData.toString('base64url'),
        signature: sign('sha256', Buffer.concat([data, sha256(clientData)]), this.#key).toString('base64url'),
        userHandle: lie.userHandle ?? this.#userHandle,
      },
      clientExtensionResults: {},
    }
  }

  #clientData({ type, challenge, origin }: { type: string; challenge: string; origin?: string }): Buffer {
    return Buffer.from(JSON.stringify({ type, challenge, origin: origin ?? this.#origin, crossOrigin: false }))
  }

  #authenticatorData({ flags, rpId = this.#rpId }: { flags: number; rpId?: string }, signCount: number): Buffer {
    const count = Buffer.alloc(4)
    count.writeUInt32BE(signCount)
    return Buffer.concat([sha256(rpId), Buffer.of(flags), count])
  }
}
