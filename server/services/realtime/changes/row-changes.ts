// What channels and event streams need of the service for row changes.
import type { Identity } from '../../../identity/identity.ts'

/** An event for subscribers that see the same of it. The object is shared, so that it is encoded once for all of them. */
export type ChangeEvent = {
  /** The member `data` of the event `postgres_changes`, as JSON text. It has the member `position`. */
  readonly data: string
  /** Where the event is in the log: the commit of its transaction, and its place there, `0/16B3748:3`. */
  readonly position: string
}

/** What a subscriber gets. Called in the order of the log. */
export type ChangeReceiver = {
  /** @param bindings indexes of those of the subscription's bindings that the event matches */
  readonly onChange: (event: ChangeEvent, bindings: readonly number[]) => void
  /** Events are missing, or none can come until the subscription is made again. `message` is for the client. */
  readonly onFailure: (failure: ChangeFailure) => void
}

export type ChangeFailure = {
  /**
   * `Gap`: events between the last one and now are missing; further ones follow. `Unavailable`: the log cannot be read, and is tried
   * again. `Refused`: a table or column of the subscription has gone, or its role may not read it any more.
   */
  readonly code: 'Gap' | 'Unavailable' | 'Refused'
  readonly message: string
}

/** What subscribers get in place of changes that could not be evaluated. */
export const unreadableChanges: ChangeFailure = {
  code: 'Gap',
  message: 'Changes are missing: they could not be read.',
}

export type ChangeSubscription = {
  /** Where it begins: a client that has seen no event yet resumes here. */
  readonly position: string
  /** Applies another token to events from now on. @throws ChangesRefused */
  readonly changeIdentity: (identity: Identity) => Promise<void>
  readonly end: () => void
}

/** Maximum number of bindings of a subscription and of the conditions of their filters: many of them cost a statement. */
export const mostConditions = 1000
export const tooManyConditions = `A channel has at most ${mostConditions} bindings to changes and conditions of their filters`

export type SubscribeOptions = {
  /** The bindings as the client sent them: `{event, schema, table, filter, select}`. */
  readonly bindings: readonly unknown[]
  readonly identity: Identity
  /** The last position that the client saw. Events after it that are still buffered come first. */
  readonly since?: string | undefined
  /** Ends the attempt to subscribe. */
  readonly signal: AbortSignal
  readonly receiver: ChangeReceiver
}

/** The bindings are not valid, or the role may not read what they name. The message is that of the `system` message. */
export class ChangesRefused extends Error {
  override readonly name = 'ChangesRefused'
}

/** Row changes are not available now. The message says what is missing, and which statement mends it. */
export class ChangesUnavailable extends Error {
  override readonly name = 'ChangesUnavailable'
}

export type RowChanges = {
  /**
   * Resolves when the subscription is live: from then on, every change that commits is reported to the receiver, but not before the
   * promise has been resolved and one turn of the event loop has passed.
   *
   * @throws ChangesRefused, ChangesUnavailable
   */
  readonly subscribe: (options: SubscribeOptions) => Promise<ChangeSubscription>
  readonly stop: () => Promise<void>
}
