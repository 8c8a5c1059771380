// Signs access tokens with the key of the current settings.
import { jwsSigner, type JwsSigner } from './jws-signature.ts'
import { publicKeys, tokenSigningKey, type KeySource } from './key-set.ts'

/** The keys of one version of the settings. */
class KeySet {
  readonly source: KeySource
  readonly sign: JwsSigner | undefined
  readonly jwks: string

  constructor(source: KeySource) {
    this.source = source
    const key = tokenSigningKey(source)
    this.sign = key && jwsSigner(key)
    this.jwks = JSON.stringify({ keys: publicKeys(source) })
  }

  isOf({ jwtSecret, authJwtKeys, authJwtSecret }: KeySource): boolean {
    return (
      this.source.jwtSecret === jwtSecret &&
      this.source.authJwtKeys === authJwtKeys &&
      this.source.authJwtSecret === authJwtSecret
    )
  }
}

export class TokenSigner {
  readonly #keys: () => KeySource
  #last: KeySet | undefined

  /** @param keys read for each token, because the settings can be reloaded */
  constructor(keys: () => KeySource) {
    this.#keys = keys
  }

  /** The public keys as JSON text: `{"keys": […]}`. */
  get jwks(): string {
    return this.#current().jwks
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

  #current(): KeySet {
    const source = this.#keys()
    return this.#last?.isOf(source) ? this.#last : (this.#last = new KeySet(source))
  }
}
