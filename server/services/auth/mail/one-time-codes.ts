// One-time codes and the tokens of links: stored and used up by the functions of `000006_mail_codes.sql`. The token of a
// link is random, and the database makes it. The database gets a code only as a keyed hash.
import { randomInt } from 'node:crypto'
import { JsonStatement } from '../../../postgres/json-statement.ts'
import { jsonObject, jsonTexts } from '../../../text/json-members.ts'
import type { AuthDatabase } from '../auth-database.ts'
import type { CodeMacs } from '../code-macs.ts'
import type { PkceChallenge } from '../confirmations.ts'
import type { SessionOrigin, StartedSession } from '../sessions.ts'

/** What a code is for. */
export type CodePurpose =
  | 'confirmation'
  | 'invite'
  | 'recovery'
  | 'magiclink'
  | 'email_change'
  | 'reauthentication'
  | 'phone_confirmation'
  | 'phone_change'
  | 'phone_reauthentication'

/** Names an account. */
export type AccountKey = { readonly user_id: string } | { readonly email: string } | { readonly phone: string }

export type CodeRequest = {
  readonly purpose: CodePurpose
  readonly account: AccountKey
  /** Issues a code only if the account is in this state. */
  readonly only?: 'confirmed' | 'unconfirmed' | 'phone_confirmed' | 'phone_unconfirmed'
  /** Digits of the code. */
  readonly length: number
  /** Replaces the random code, for test numbers. */
  readonly code?: string | undefined
  /** Seconds between two mails or messages. */
  readonly frequency: number
  /** The new address or number, by default that of the pending change. */
  readonly newAddress?: string
  /** Whether a change of the e-mail address needs confirmations from both mailboxes. */
  readonly secure?: boolean
  /** The side of a change that a link is for; by default both. */
  readonly side?: 'new' | 'current'
  readonly pkce?: PkceChallenge | undefined
  /** Hash of the password of the sign-up that is confirmed; null without a password, left out if the code is sent again. */
  readonly passwordHash?: string | null
  /** The session that asks for a change of the address; null for a token without one. Left out of other requests. */
  readonly sessionId?: string | null
  readonly audit?: { readonly action: string; readonly type: string; readonly traits?: object }
  /** Client address, for the audit log. */
  readonly ip: string | null
}

/** The properties of an account that is created unless there is one. */
export type NewAccount = {
  readonly id: string
  readonly passwordHash: string | null
  /** `user_metadata` as JSON text. */
  readonly data: string
  readonly aud: string
  readonly role: string
  /** Whether the address needs no confirmation. */
  readonly confirmed: boolean
}

/** A code to be sent. */
export type IssuedCode = {
  readonly to: string
  readonly code: string
  /** The token of the link, of which a hash is stored. */
  readonly token: string
}

export type Issued =
  | { readonly status: 'absent' | 'confirmed' | 'unconfirmed' | 'idle' | 'exists' }
  /** A mail or message was sent a moment ago. */
  | { readonly status: 'wait'; /** Seconds. */ readonly retry_after: number }
  | IssuedCodes

export type IssuedCodes = {
  readonly status: 'sent'
  /** The user object as JSON text. */
  readonly user: string
  readonly email: string | null
  readonly phone: string | null
  /** Address of a pending change. */
  readonly new_email: string | null
  /** Of a change of the address, the code for the new mailbox comes first. */
  readonly mails: readonly IssuedCode[]
}

/** A code or link that a user presents. */
export type PresentedCode = {
  /** `signup`, `recovery` and the like, as in the request. */
  readonly type: string
  /** Seconds. */
  readonly lifetime: number
  /** Whether a new address needs confirmations from both mailboxes. */
  readonly secure: boolean
  /** Issues an authorization code instead of a session. */
  readonly pkce: boolean
} & (
  | { readonly email: string; readonly token: string }
  | { readonly phone: string; readonly token: string }
  | { readonly token_hash: string }
)

export type CodeError = 'otp_expired' | 'user_banned' | 'email_exists' | 'phone_exists'

export type UsedCode =
  | { readonly kind: 'error'; readonly error: CodeError }
  /** The first of two confirmations of a new address. */
  | { readonly kind: 'half' }
  | { readonly kind: 'auth code'; readonly authCode: string; readonly changed: AddressChange | undefined }
  | {
      readonly kind: 'session'
      readonly started: StartedSession
      /** What was confirmed. */
      readonly type: string
      readonly changed: AddressChange | undefined
    }

/** What a code has changed of an account that had an address, or a number, before. */
export type AddressChange = {
  readonly kind: 'email_changed' | 'phone_changed' | 'identity_linked'
  /** The address or number that the account had; undefined for its first number. */
  readonly old?: string
  /** The user object as JSON text. */
  readonly user: string
}

const issueStatement = new JsonStatement("select result, result -> 'user' from auth.issue_code($1::json) as result", {
  access: 'write',
})
const issueChangeStatement = new JsonStatement(
  "select result, result -> 'user' from auth.issue_change_code($1::json) as result",
  { access: 'write' },
)
const issueToNewStatement = new JsonStatement(
  `select result -> 'issued', result -> 'issued' -> 'user', result ->> 'outcome'
  from auth.issue_code_to_new_account($1::json) as result`,
  { access: 'write' },
)
const useStatement = new JsonStatement(
  "select result, result -> 'session', result #> '{changed,user}' from auth.use_code($1::json) as result",
  { access: 'write' },
)
const nonceStatement = new JsonStatement('select auth.use_nonce($1::json)', { access: 'write' })

/** A random code that may start with zeros. */
const randomCode = (digits: number): string => String(randomInt(10 ** digits)).padStart(digits, '0')

export class OneTimeCodes {
  readonly #database: AuthDatabase
  readonly #macs: CodeMacs

  constructor(database: AuthDatabase, macs: CodeMacs) {
    this.#database = database
    this.#macs = macs
  }

  /**
   * Replaces the code of an account for a purpose, in one round trip.
   *
   * @throws AuthError 401 `insufficient_aal` for a session that has not used the second factor of its account
   */
  async issue(request: CodeRequest): Promise<Issued> {
    const codes = codesOf(request)
    const members = { ...membersOf(request), ...this.#membersOf(codes) }
    const statement = request.sessionId === undefined ? issueStatement : issueChangeStatement
    const [row] = await this.#database.askRows(statement, [JSON.stringify(members)])
    return issuedOf(codes, row?.[0], row?.[1])
  }

  /** Creates the account of a code unless there is one, in the same round trip. */
  async issueToNewAccount(
    request: CodeRequest,
    { id, passwordHash, data, aud, role, confirmed }: NewAccount,
  ): Promise<{ readonly isNew: boolean; readonly issued: Issued }> {
    const codes = codesOf(request)
    const coded = { ...membersOf(request), ...this.#membersOf(codes) }
    const members = { ...coded, new_id: id, password_hash: passwordHash, aud, role, confirmed }
    const text = jsonObject({ ...jsonTexts(members), data })
    const [row] = await this.#database.askRows(issueToNewStatement, [text])
    return { isNew: row?.[2] === 'created', issued: issuedOf(codes, row?.[0], row?.[1]) }
  }

  /** Uses up a code or link, in one round trip. Of concurrent calls with the same code, one succeeds. */
  async use(presented: PresentedCode, { ip, userAgent }: SessionOrigin): Promise<UsedCode> {
    const [row] = await this.#database.askRows(useStatement, [
      JSON.stringify({ ...this.#hashed(presented), ip, user_agent: userAgent }),
    ])
    const result = JSON.parse(row?.[0] ?? 'null') as {
      readonly error?: CodeError
      readonly half?: true
      readonly auth_code?: string
      readonly type?: string
      readonly changed?: Omit<AddressChange, 'user'> | null
    }
    const user = row?.[2] ?? undefined
    const changed = result.changed && user !== undefined ? { ...result.changed, user } : undefined
    if (result.error !== undefined) return { kind: 'error', error: result.error }
    if (result.half === true) return { kind: 'half' }
    if (result.auth_code !== undefined) return { kind: 'auth code', authCode: result.auth_code, changed }
    return { kind: 'session', started: row?.[1] ?? '', type: result.type ?? presented.type, changed }
  }

  /**
   * Uses up the code of a reauthentication.
   *
   * @param lifetime seconds
   * @returns whether it was valid
   */
  async useNonce(userId: string, nonce: string, lifetime: number): Promise<boolean> {
    const [result] = await this.#database.ask(nonceStatement, [
      JSON.stringify({ user_id: userId, code_macs: this.#macs.candidates(nonce), lifetime }),
    ])
    return (result as { readonly valid: boolean }).valid
  }

  #membersOf([code, currentCode]: Codes): Readonly<Record<string, string>> {
    return {
      code_mac: this.#macs.sign(code),
      ...(currentCode === undefined ? {} : { current_code_mac: this.#macs.sign(currentCode) }),
    }
  }

  /** What the database gets of a code or link: it never gets the code itself. */
  #hashed(presented: PresentedCode): Readonly<Record<string, unknown>> {
    if (!('token' in presented)) return presented
    const { token, ...others } = presented
    return { ...others, code_macs: this.#macs.candidates(token) }
  }
}

/** The code of a request; of a change of the e-mail address, that for the current mailbox, too. */
type Codes = readonly [code: string, currentCode?: string]

function codesOf({ code, length, purpose }: CodeRequest): Codes {
  const first = code ?? randomCode(length)
  return purpose === 'email_change' ? [first, randomCode(length)] : [first]
}

function membersOf(request: CodeRequest): Readonly<Record<string, unknown>> {
  const { purpose, account, only, frequency, newAddress, secure, side, pkce, passwordHash, sessionId, audit, ip } =
    request
  return {
    ...account,
    purpose,
    only,
    frequency,
    ...(newAddress === undefined ? {} : { [purpose === 'phone_change' ? 'new_phone' : 'new_email']: newAddress }),
    ...(purpose === 'email_change' ? { secure: secure === true, side } : {}),
    ...(pkce === undefined ? {} : { code_challenge: pkce.challenge, code_challenge_method: pkce.method }),
    ...(passwordHash === undefined ? {} : { password_hash: passwordHash }),
    ...(sessionId === undefined ? {} : { session_id: sessionId }),
    ...(audit === undefined ? {} : { audit: audit.action, audit_type: audit.type, audit_traits: audit.traits ?? {} }),
    ip,
  }
}

function issuedOf(codes: Codes, result: string | null | undefined, user: string | null | undefined): Issued {
  const issued = JSON.parse(result ?? 'null') as Issued
  if (issued.status !== 'sent') return issued
  const mails = issued.mails.map((mail, index) => ({ ...mail, code: codes[index] ?? '' }))
  return { ...issued, mails, user: user ?? '' }
}
