// The owner of a session, as the caller of routes whose statements act for them.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Failure } from '../../http/envelope.ts'
import { noteRole } from '../../http/request-log.ts'
import { isUnreachable, sqlState } from '../../postgres/database-error.ts'
import { isSessionOwner, SessionNotApplied, type Actor } from '../../postgres/identity-settings.ts'
import { currentSession, sessionIdentity, sessionOwner, type SessionSettings } from './session.ts'

/**
 * If possible, the first statement that acts for the caller looks up the session, in the same round trip. When that
 * fails, nothing of the statement has been executed: the session is then looked up before, and the statement repeated.
 */
export class SessionCaller {
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #settings: SessionSettings
  #actor: Actor | undefined
  /** Whether the session has been looked up. */
  #isKnown = false

  constructor(request: IncomingMessage, response: ServerResponse, settings: SessionSettings) {
    this.#request = request
    this.#response = response
    this.#settings = settings
    this.#actor = settings.findsSessionsFirst === true ? undefined : sessionOwner(request, settings)
  }

  /**
   * Looks up the session unless `run` can do it.
   *
   * @throws Failure 401
   */
  async prepare(): Promise<this> {
    if (!this.#actor) await this.#find()
    return this
  }

  /**
   * Runs a statement that acts for the caller.
   *
   * @param use runs one statement or transaction, and throws a Failure only because of its result
   * @throws Failure 401 when the session has ended; the error of `use`
   */
  async run<T>(use: (actor: Actor) => Promise<T>): Promise<T> {
    if (!isSessionOwner(this.#actor)) return use(this.#actor ?? (await this.#find()))
    try {
      const result = await use(this.#actor)
      this.#know(authenticated)
      return result
    } catch (error) {
      if (error instanceof SessionNotApplied) return use(await this.#find())
      // The statement itself had no result, or failed.
      const isOfStatement = error instanceof Failure || (sqlState(error) !== undefined && !isUnreachable(error))
      if (isOfStatement) this.#know(authenticated)
      throw error
    }
  }

  /**
   * Looks up the session if nothing has done so yet.
   *
   * @throws Failure 401
   */
  async confirm(): Promise<void> {
    if (!this.#isKnown) await this.#find()
  }

  async #find(): Promise<Actor> {
    const identity = sessionIdentity(await currentSession(this.#request, this.#response, this.#settings))
    this.#actor = identity
    this.#know(identity.role)
    return identity
  }

  #know(role: string): void {
    this.#isKnown = true
    noteRole(this.#response, role)
  }
}

/** The role of all users with a session. */
const authenticated = 'authenticated'
