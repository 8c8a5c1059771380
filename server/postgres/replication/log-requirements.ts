// What a database lacks for reading changes of rows from its log, and what mends it: for clients that want changes, and for
// `rowhouse doctor`.
import { identifier, literal } from '../../text/sql-text.ts'
import { sqlState } from '../database-error.ts'

export type MissingRequirement = {
  readonly code: 'wal_level' | 'role' | 'slots' | 'senders' | 'publications' | 'pooler' | 'transaction'
  /** What is missing. */
  readonly what: string
  /** What to do. */
  readonly advice: string
  /** Statements that do it, one a line. */
  readonly fix?: string
}

/** Publications of the migrations, and what they publish. */
const contents: Readonly<Record<string, string>> = {
  supabase_realtime_messages_publication: " for table realtime.messages with (publish = 'insert')",
}

export const missing = {
  walLevel: (level: string): MissingRequirement => ({
    code: 'wal_level',
    what: `wal_level is ${level}: the log does not say which rows were changed.`,
    advice: 'Set it to logical, and restart PostgreSQL.',
    fix: 'alter system set wal_level = logical;',
  }),
  role: (role: string): MissingRequirement => ({
    code: 'role',
    what: `The role ${role} may not read the log: it lacks the attribute REPLICATION.`,
    advice: 'Let a superuser give it, or set REALTIME_DATABASE_URL to the connection string of a role that has it.',
    fix: `alter role ${identifier(role)} replication;`,
  }),
  slots: (max: number): MissingRequirement => ({
    code: 'slots',
    what: `All ${max} replication slots are in use.`,
    advice:
      'Drop those of pg_replication_slots that are not needed any more, or raise max_replication_slots and restart PostgreSQL.',
    fix: `alter system set max_replication_slots = ${max + 10};`,
  }),
  senders: (max: number): MissingRequirement => ({
    code: 'senders',
    what: `All ${max} connections for replication are in use.`,
    advice: 'Raise max_wal_senders, and restart PostgreSQL.',
    fix: `alter system set max_wal_senders = ${max + 10};`,
  }),
  publications: (names: readonly string[]): MissingRequirement => ({
    code: 'publications',
    what: `${names.length === 1 ? 'There is no publication' : 'There are no publications'} ${names.join(', ')}.`,
    advice: 'Create what is missing, and add the tables whose changes clients may listen to.',
    fix: names.map((name) => `create publication ${identifier(name)}${contents[name] ?? ''};`).join('\n'),
  }),
  pooler: (): MissingRequirement => ({
    code: 'pooler',
    what: 'The connection goes through a pooler, which does not pass replication on.',
    advice: 'Set REALTIME_DATABASE_URL to a connection string of the database itself.',
  }),
  /** @param pid 0 for a prepared transaction */
  transaction: (pid: number): MissingRequirement => ({
    code: 'transaction',
    what: `Reading the log begins when all transactions have ended that were there before. ${
      pid === 0 ? 'A prepared transaction' : `That of the process ${pid}`
    } has not ended yet.`,
    advice: 'Wait, or end it.',
    fix: pid === 0 ? 'select gid, prepared from pg_prepared_xacts;' : `select pg_terminate_backend(${pid});`,
  }),
}

/** In one sentence or a few, with the statements. */
export const requirementText = ({ what, advice, fix }: MissingRequirement): string =>
  fix === undefined ? `${what} ${advice}` : `${what} ${advice.replace(/\.$/, '')}: ${fix.replaceAll('\n', ' ')}`

/** Runs a statement without parameters. */
export type RunText = (text: string) => Promise<{ readonly rows: readonly unknown[] }>

type Facts = {
  readonly level: string
  readonly version: number
  readonly role: string
  readonly may_replicate: boolean
  readonly max_slots: number
  readonly slots: number
  readonly max_senders: number
  readonly senders: number
  readonly publications: readonly string[]
}

/** The privileges of the session are those of its login. Statements of a replication connection have no parameters. */
const factsStatement = (publications: readonly string[]): string =>
  `select pg_catalog.current_setting('wal_level') as level,
     pg_catalog.current_setting('server_version_num')::int as version,
     session_user::text as role,
     (select rolreplication or rolsuper from pg_catalog.pg_roles where rolname = session_user) as may_replicate,
     pg_catalog.current_setting('max_replication_slots')::int as max_slots,
     (select count(*)::int from pg_catalog.pg_replication_slots) as slots,
     pg_catalog.current_setting('max_wal_senders')::int as max_senders,
     (select count(*)::int from pg_catalog.pg_stat_replication) as senders,
     array(
       select pubname::text from pg_catalog.pg_publication where pubname = any (array[${publications.map(literal).join(', ')}]::name[])
     ) as publications`

/** The first version whose log says which rows were changed as soon as there is a slot that needs it. */
const adaptingVersion = 190_000

/**
 * What a database lacks for a further reader of its log.
 *
 * @param publications those that must exist
 */
export async function missingRequirements(
  query: RunText,
  publications: readonly string[],
): Promise<readonly MissingRequirement[]> {
  const [facts] = (await query(factsStatement(publications))).rows as readonly Facts[]
  if (!facts) return []
  const absent = publications.filter((name) => !facts.publications.includes(name))
  return [
    ...(facts.level === 'logical' || facts.version >= adaptingVersion ? [] : [missing.walLevel(facts.level)]),
    ...(facts.may_replicate ? [] : [missing.role(facts.role)]),
    ...(facts.slots < facts.max_slots ? [] : [missing.slots(facts.max_slots)]),
    ...(facts.senders < facts.max_senders ? [] : [missing.senders(facts.max_senders)]),
    ...(absent.length === 0 ? [] : [missing.publications(absent)]),
  ]
}

/** Whether the error is about something that is missing, and not a lost connection. */
export function isMissingRequirement(error: unknown): boolean {
  const state = sqlState(error)
  const message = error instanceof Error ? error.message : ''
  return (
    // insufficient_privilege, configuration_limit_exceeded: slots, object_not_in_prerequisite_state: wal_level.
    state === '42501' ||
    state === '53400' ||
    state === '55000' ||
    (state === '53300' && message.includes('max_wal_senders'))
  )
}

/** Whether the error is that of a pooler, or of a server to which a pooler has not passed on that this is for replication. */
export function isPoolerError(error: unknown): boolean {
  const state = sqlState(error)
  // protocol_violation: "unsupported startup parameter: replication". syntax_error: the server takes the command for SQL.
  return state === '42601' || (state === '08P01' && error instanceof Error && error.message.includes('replication'))
}
