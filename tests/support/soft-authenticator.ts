// An authenticator in software, which can be asked to lie.
import { createHash, generateKeyPairSync, randomBytes, sign, type JsonWebKey, type KeyObject } from 'node:crypto'
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

/** Keys of the algorithms of credentials, as COSE_Key. https://www.rfc-editor.org/rfc/rfc9053 */
const algorithms = {
  ES256: {
    id: -7,
    hash: 'sha256',
    generate: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
    members: ({ x = '', y = '' }: JsonWebKey): [number, number | Uint8Array][] => [
      ...([
        [1, 2],
        [-1, 1],
      ] as [number, number][]),
      ...([
        [-2, bytesOf(x)],
        [-3, bytesOf(y)],
      ] as [number, Uint8Array][]),
    ],
  },
  EdDSA: {
    id: -8,
    hash: null,
    generate: () => generateKeyPairSync('ed25519'),
    members: ({ x = '' }: JsonWebKey): [number, number | Uint8Array][] => [
      [1, 1],
      [-1, 6],
      [-2, bytesOf(x)],
    ],
  },
  RS256: {
    id: -257,
    hash: 'sha256',
    generate: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
    members: ({ n = '', e = '' }: JsonWebKey): [number, number | Uint8Array][] => [
      [1, 3],
      [-1, bytesOf(n)],
      [-2, bytesOf(e)],
    ],
  },
} as const

export type SoftAlgorithm = keyof typeof algorithms

const bytesOf = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, 'base64url'))

/** A credential for one site. */
export class SoftAuthenticator {
  readonly id: Buffer
  readonly #origin: string
  readonly #rpId: string
  readonly #key: KeyObject
  readonly #publicKey: JsonWebKey
  readonly #algorithm: (typeof algorithms)[SoftAlgorithm]
  #userHandle = ''
  /** Number of signatures so far; undefined for an authenticator that does not count. */
  #count: number | undefined

  constructor({
    origin,
    rpId = new URL(origin).hostname,
    counts = true,
    id = randomBytes(32),
    algorithm = 'ES256',
  }: {
    readonly origin: string
    readonly rpId?: string
    readonly counts?: boolean
    readonly id?: Buffer
    readonly algorithm?: SoftAlgorithm
  }) {
    this.id = id
    this.#origin = origin
    this.#rpId = rpId
    this.#count = counts ? 0 : undefined
    this.#algorithm = algorithms[algorithm]
    const { privateKey, publicKey } = this.#algorithm.generate()
    this.#key = privateKey
    this.#publicKey = publicKey.export({ format: 'jwk' })
  }

  /** As `navigator.credentials.create`. */
  create({ challenge, user }: PublicKeyCredentialCreationOptionsJSON, lie: Lie = {}): RegistrationResponseJSON {
    this.#userHandle = user.id
    const length = Buffer.alloc(2)
    length.writeUInt16BE(this.id.length)
    const publicKey = new Map<number, number | Uint8Array>([
      [3, lie.algorithm ?? this.#algorithm.id],
      ...this.#algorithm.members(this.#publicKey),
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
        signature: sign(this.#algorithm.hash, Buffer.concat([data, sha256(clientData)]), this.#key).toString(
          'base64url',
        ),
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
