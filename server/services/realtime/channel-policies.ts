// What the policies on `realtime.messages` allow on a private channel.
import type { Identity } from '../../identity/identity.ts'

/** What a caller may do with the messages of one extension. */
export type MessageRights = {
  /** Receive. */
  readonly read: boolean
  /** Send. */
  readonly write: boolean
}

export type ChannelRights = { readonly broadcast: MessageRights; readonly presence: MessageRights }

export type ChannelRequest = {
  readonly identity: Identity
  /** Without `realtime:`; policies read it as `realtime.topic()`. */
  readonly topic: string
  /** Headers of the handshake or request; policies read them as `request.headers`. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
}

export type ChannelPolicies = {
  /**
   * Evaluates the policies for the role and the claims of a caller, under whose session they run if its token has one.
   *
   * @throws the error of a policy that fails; the errors of the database
   */
  readonly decide: (request: ChannelRequest) => Promise<ChannelRights>
}

/** The rights on public channels. */
export const allRights: ChannelRights = {
  broadcast: { read: true, write: true },
  presence: { read: true, write: true },
}
