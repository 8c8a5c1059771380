// What a caller may do in a private channel: the policies of `realtime.messages` decide about messages that were not sent.
import { randomUUID } from 'node:crypto'
import type { Database } from '../../../postgres/database.ts'
import type { Identity } from '../../../identity/identity.ts'
import { describeRelation, type RelationAccess, type RowCondition } from './relation-policies.ts'
import { CallerSettings, decisionStatement, runOnRows, type RowTexts } from './row-check.ts'

export type ChannelRights = { readonly read: boolean; readonly write: boolean }

export type ChannelCaller = {
  readonly identity: Identity
  /** Name of the channel, without `realtime:`. */
  readonly topic: string
  /** Headers of the request that opened the socket, for `request.headers`. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
}

export type ChannelPolicies = {
  /** @throws the error of a policy, of the database, or of the connection to it */
  readonly decide: (
    caller: ChannelCaller,
  ) => Promise<{ readonly broadcast: ChannelRights; readonly presence: ChannelRights }>
}

const extensions = ['broadcast', 'presence'] as const

const none: ChannelRights = { read: false, write: false }

const conditionText = (condition: RowCondition): string =>
  condition.kind === 'expression' ? condition.sql : String(condition.kind === 'always')

/** The message of an extension, as it would be stored. */
function message(relation: RelationAccess, topic: string, extension: string): RowTexts {
  const now = new Date().toISOString().slice(0, -1)
  const values: Readonly<Record<string, string>> = {
    topic,
    extension,
    event: '',
    private: 'true',
    updated_at: now,
    inserted_at: now,
    id: randomUUID(),
  }
  return relation.columns.map(({ name }) => values[name] ?? null)
}

/** @param checksSessions see `Snapshot`, read at each decision */
export function createChannelPolicies(
  database: Pick<Database, 'runWith'>,
  checksSessions: () => boolean,
): ChannelPolicies {
  const settings = new CallerSettings(checksSessions, [
    'realtime.topic',
    'request.jwt.claim.sub',
    'request.jwt.claim.role',
    'request.headers',
  ])
  return {
    decide: async ({ identity, topic, headers }) => {
      const relation = await describeRelation(database, identity.role, 'realtime', 'messages')
      if (!relation || (relation.select.kind === 'never' && relation.insert.kind === 'never'))
        return { broadcast: none, presence: none }
      const conditions = [conditionText(relation.select), conditionText(relation.insert)]
      const { sub } = identity.claims
      const values = [topic, typeof sub === 'string' ? sub : '', identity.role, JSON.stringify(headers)]
      const rows = await runOnRows(
        database,
        decisionStatement(relation, conditions),
        settings.of(identity, values),
        extensions.map((extension) => message(relation, topic, extension)),
      )
      const rightsOf = (extension: (typeof extensions)[number]): ChannelRights => {
        const [, read, write] = rows.find(([number]) => number === String(extensions.indexOf(extension) + 1)) ?? []
        return { read: read === 't', write: write === 't' }
      }
      return { broadcast: rightsOf('broadcast'), presence: rightsOf('presence') }
    },
  }
}
