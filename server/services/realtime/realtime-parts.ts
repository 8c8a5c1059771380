// What sockets, channels and routes of `/realtime/v1` share.
import type { JwtVerifier } from '../../identity/jwt/jwt.ts'
import type { ChangeStreams } from './changes/change-streams.ts'
import type { RowChanges } from './changes/row-changes.ts'
import type { Broadcast } from './frames.ts'
import type { Hub } from './hub.ts'
import type { Replay } from './join.ts'
import type { LogFeed } from './log-feed.ts'
import type { ChannelPolicies } from './policies/channel-policies.ts'
import type { RealtimeSettings } from './settings.ts'
import type { RealtimeStatistics } from './statistics.ts'
import type { Tokens } from './tokens.ts'

export type RealtimeParts = {
  /** Read each time, because the settings can be reloaded. */
  readonly settings: () => RealtimeSettings
  /** Another one, when the settings name other secrets. */
  readonly verifier: () => JwtVerifier
  /** See `Snapshot`. */
  readonly checksSessions: () => boolean
  readonly hub: Hub
  readonly tokens: Tokens
  readonly policies: ChannelPolicies
  readonly changes: RowChanges
  readonly streams: ChangeStreams
  readonly feed: LogFeed
  /** The newest stored messages of a private topic, in their order. */
  readonly storedMessages: (topic: string, replay: Replay) => Promise<readonly Broadcast[]>
  readonly statistics: RealtimeStatistics
  readonly onError: (error: unknown) => void
}
