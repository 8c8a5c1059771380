// Whether a client may join a channel, and what it may do there.
import type { SocketObserver } from '../../common/socket-observer.ts'
import { isUnreachable, sqlState } from '../../postgres/database-error.ts'
import type { ChannelCaller, ChannelPolicies } from './policies/channel-policies.ts'
import { ChannelRefused } from './realtime-error.ts'
import type { RealtimeParts } from './realtime-parts.ts'
import { joinError, sessionEnded, TokenRefused, type Credential } from './tokens.ts'

export type ChannelRights = Awaited<ReturnType<ChannelPolicies['decide']>>

/** Those of public channels. */
export const allRights: ChannelRights = {
  broadcast: { read: true, write: true },
  presence: { read: true, write: true },
}

export type Permission = { readonly credential: Credential; readonly rights: ChannelRights }

export type PermissionRequest = Omit<ChannelCaller, 'identity'> & {
  readonly token: string
  readonly isPrivate: boolean
  readonly isPresenceEnabled: boolean
}

type Parts = Pick<RealtimeParts, 'tokens' | 'policies' | 'onError'>

/**
 * Verifies a token, and asks the policies about private channels.
 *
 * @throws TokenRefused; ChannelRefused if the client may read nothing of the channel
 */
export async function permissionOf(parts: Parts, request: PermissionRequest): Promise<Permission> {
  const credential = await parts.tokens.verify(request.token)
  return { credential, rights: request.isPrivate ? await rightsOf(parts, request, credential) : allRights }
}

async function rightsOf(parts: Parts, request: PermissionRequest, { identity }: Credential): Promise<ChannelRights> {
  const { topic, headers, isPresenceEnabled } = request
  try {
    const rights = await parts.policies.decide({ identity, topic, headers })
    if (rights.broadcast.read || (rights.presence.read && isPresenceEnabled)) return rights
  } catch (error) {
    if (sqlState(error) === 'PGRST') throw new TokenRefused('ended', sessionEnded)
    if (isUnreachable(error)) throw new TokenRefused('unavailable', noDatabase, error)
    // A policy of this topic fails, which concerns no other.
    parts.onError(error)
  }
  throw unauthorized(topic)
}

/**
 * The same for a join, which is recorded. What the channel does afterwards is not, although it begins there.
 *
 * @throws as `permissionOf`, with the errors that clients know of joins
 */
export async function joinPermission(
  observer: SocketObserver,
  parts: Parts,
  request: PermissionRequest,
): Promise<Permission> {
  const decision = await observer.message<Permission | { readonly error: unknown }>(
    () => permissionOf(parts, request).catch((error: unknown) => ({ error: joinError(error) })),
    (answer) => {
      if (!('error' in answer)) return undefined
      return answer.error instanceof ChannelRefused ? answer.error.code : 'failed'
    },
  )
  if ('error' in decision) throw decision.error
  return decision
}

export const noDatabase = 'Realtime was unable to connect to the project database'

export const unauthorized = (topic: string): ChannelRefused =>
  new ChannelRefused('Unauthorized', `You do not have permissions to read from this Channel topic: ${topic}`)
