// Signs access tokens with the key of the current settings.
import { jwsSigner, type JwsSigner } from './jws-signature.ts'
import { derivedFromKeys, publicKeys, tokenSigningKey, type KeySource } from './key-set.ts'

export class TokenSigner {
  readonly #current: () => {
    readonly sign: JwsSigner | undefined
    readonly algorithm: string | undefined
    readonly jwks: string
  }

  /** @param keys read for each token, because the settings can be reloaded */
  constructor(keys: () => KeySource) {
    this.#current = derivedFromKeys(keys, (source) => {
      const key = tokenSigningKey(source)
      return {
        sign: key && jwsSigner(key),
        algorithm: key?.algorithm,
        jwks: JSON.stringify({ keys: publicKeys(source) }),
      }
    })
  }

  /** The public keys as JSON text: `{"keys": […]}`. */
  get jwks(): string {
    return this.#current().jwks
  }

  /** The algorithm of the key that signs, such as `ES256`; undefined if no key of the settings can sign. */
  get algorithm(): string | undefined {
    return this.#current().algorithm
  }

  /**
   * Signs claims (RFC 7519).
   *
   * @param payload the claims as JSON text, which keeps all digits of numbers
   * @returns undefined if no key of the settings can sign
   */
  async sign(payload: string): Promise<string | undefined> {
    return this.#current().sign?.(payload)
  }
}
