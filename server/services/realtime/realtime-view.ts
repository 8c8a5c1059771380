// What the service does at the moment, for people.
import type { RealtimeLog, RealtimeMember, RealtimeReport, RealtimeTopic } from '../console/realtime-protocol.ts'
import type { Channel } from './channel.ts'
import type { StartedRealtime } from './start-realtime.ts'
import type { RealtimeStatistics } from './statistics.ts'

/** Topics, and members of one topic, that are described. */
const most = { topics: 500, members: 50 }

/** @param running undefined before the first client */
export function describeRealtime(counts: RealtimeStatistics, running: StartedRealtime | undefined): RealtimeReport {
  return {
    isStarted: running !== undefined,
    sockets: counts.sockets,
    received: counts.received,
    delivered: counts.delivered,
    changes: counts.changes,
    drops: Array.from(counts.drops, ([reason, count]) => ({ reason, count })),
    log: running ? logOf(running) : null,
    topics: running ? topicsOf(running) : [],
  }
}

function logOf({ parts: { feed }, figures }: StartedRealtime): RealtimeLog {
  const { lagBytes, lagSeconds, subscribers } = figures()
  const { state } = feed
  return {
    state: state?.kind ?? 'stopped',
    message: state && 'message' in state ? state.message : null,
    lagBytes,
    lagSeconds,
    subscribers,
  }
}

function topicsOf({ parts: { hub }, sockets }: StartedRealtime): readonly RealtimeTopic[] {
  const channels = new Map<string, Channel[]>()
  const keyOf = (topic: string, isPrivate: boolean): string => `${isPrivate} ${topic}`
  for (const channel of sockets.channels()) {
    const key = keyOf(channel.name, channel.request.isPrivate)
    const known = channels.get(key)
    if (known) known.push(channel)
    else channels.set(key, [channel])
  }
  return [...hub.rooms].slice(0, most.topics).map((room) => {
    const members = channels.get(keyOf(room.topic, room.isPrivate)) ?? []
    return {
      topic: room.topic,
      isPrivate: room.isPrivate,
      present: room.presence.size,
      memberCount: members.length,
      members: members.slice(0, most.members).map(memberOf),
    }
  })
}

function memberOf({ credential, isPresent, request }: Channel): RealtimeMember {
  const { role, claims } = credential.identity
  return {
    role,
    user: typeof claims.sub === 'string' ? claims.sub : null,
    isPresent,
    bindings: request.bindings,
  }
}
