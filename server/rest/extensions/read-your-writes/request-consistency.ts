// Read your own writes with replicas: the response to a write has its position, which the client sends with later reads.
import { laterPosition, type WalPosition } from '../../../common/wal-position.ts'
import type { Consistency } from '../../database.ts'
import type { PositionTokens } from './position-token.ts'
import type { Header } from '../../response/header.ts'
import type { RestRequest } from '../../rest-request.ts'

const headerName = 'Rowhouse-Position'
const cookieName = 'rowhouse-position'
const requestHeader = headerName.toLowerCase()
/** A client has one position; more texts than this are not verified. */
const mostTexts = 4

/** The positions of a request and of its response. */
export class RequestConsistency implements Consistency {
  readonly after: WalPosition | undefined
  readonly #tokens: PositionTokens
  #written: WalPosition | undefined

  /** Texts that are malformed, forged or expired are ignored. */
  constructor(request: Pick<RestRequest, 'header'>, tokens: PositionTokens) {
    this.#tokens = tokens
    const texts = sentTexts(request).slice(0, mostTexts)
    if (texts.length === 0) return
    const now = Date.now() / 1000
    for (const text of texts) {
      const position = tokens.open(text, now)
      if (position) this.after = this.after ? laterPosition(this.after, position) : position
    }
  }

  readonly written = (position: WalPosition): void => {
    this.#written = this.#written ? laterPosition(this.#written, position) : position
  }

  /**
   * The headers of the response; empty unless the request has written.
   *
   * @param maxAge seconds for which the position is valid
   * @param isSecure whether the cookie has the attribute `Secure`
   */
  headers(maxAge: number, isSecure: boolean, basePath: string): readonly Header[] {
    if (!this.#written) return []
    const text = this.#tokens.seal(this.#written, Math.ceil(Date.now() / 1000) + maxAge)
    const path = basePath === '' ? '/' : basePath
    const secure = isSecure ? '; Secure' : ''
    return [
      [headerName, text],
      ['Set-Cookie', `${cookieName}=${text}; Path=${path}; Max-Age=${maxAge}; HttpOnly; SameSite=Lax${secure}`],
    ]
  }
}

/** The texts of the header and of the cookie. Repeated headers may have been joined with commas. */
function sentTexts(request: Pick<RestRequest, 'header'>): readonly string[] {
  const texts = request.header(requestHeader)?.split(',') ?? []
  for (const pair of request.header('cookie')?.split(';') ?? []) {
    const equals = pair.indexOf('=')
    if (equals > 0 && pair.slice(0, equals).trim() === cookieName) texts.push(pair.slice(equals + 1))
  }
  return texts.map((text) => text.trim())
}
