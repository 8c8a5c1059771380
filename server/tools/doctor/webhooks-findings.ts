// Outgoing calls that are not sent, or were not delivered.
import type { Config } from '../../config/config.ts'
import type { Client } from '../../postgres/connection/client.ts'
import type { DoctorFinding } from './finding.ts'

export type CallFacts = {
  /** Calls that have been due for a minute. */
  readonly due: number
  /** Seconds since the first of them was due. */
  readonly dueSeconds: number
  /** Whether a process has the lease of calls. */
  readonly hasSender: boolean
  /** Calls that wait after a failed attempt. */
  readonly failing: number
  /** Of these, the host that most are for, and its last error. */
  readonly failingHost: string | null
  readonly failingError: string | null
  /** Calls that were put aside in the last day. */
  readonly dead: number
  /** Of these, the most frequent reason. */
  readonly deadReason: string | null
}

/** Numbers above it are not counted. */
const most = 10_000

const factsSql = `
with due as (
  select next_at from rowhouse.calls
  where state = 'waiting' and not behind and next_at < clock_timestamp() - interval '1 minute' limit ${most}
), failing as (
  select host, last_error from rowhouse.calls where state = 'waiting' and not behind and attempts > 0 limit ${most}
), failing_host as (
  select host, max(last_error) as last_error from failing group by host order by count(*) desc, host limit 1
), dead as (
  select last_error from rowhouse.calls
  where state = 'dead' and finished_at > clock_timestamp() - interval '1 day' order by finished_at desc limit ${most}
)
select (select count(*)::integer from due) as due,
  coalesce((select extract(epoch from clock_timestamp() - min(next_at))::float8 from due), 0) as "dueSeconds",
  exists (select from rowhouse.leases where name = 'calls' and until > clock_timestamp()) as "hasSender",
  (select count(*)::integer from failing) as failing,
  (select host from failing_host) as "failingHost",
  (select last_error from failing_host) as "failingError",
  (select count(*)::integer from dead) as dead,
  (select last_error from dead group by last_error order by count(*) desc, last_error limit 1) as "deadReason"`

/** Whether both tables exist, for a role that may read them. */
const readableSql = `
select count(*) = 2 as "isReadable"
from pg_catalog.pg_class
join pg_catalog.pg_namespace on pg_namespace.oid = relnamespace
where nspname = 'rowhouse' and relname in ('calls', 'leases') and has_schema_privilege(pg_namespace.oid, 'usage')
  and has_table_privilege(pg_class.oid, 'select')`

/** @param owner a connection as the owner of the tables, or as the serving role, which may read them, too */
export async function webhooksFindings(
  { services }: Pick<Config, 'services'>,
  owner: Client,
): Promise<DoctorFinding[]> {
  if (!services.includes('webhooks')) return []
  const { rows } = await owner.query<{ isReadable: boolean }>(readableSql)
  if (rows[0]?.isReadable !== true) return []
  const { rows: facts } = await owner.query<CallFacts>(factsSql)
  return facts.flatMap(callFindings)
}

export function callFindings(facts: CallFacts): DoctorFinding[] {
  const { due, dueSeconds, hasSender, failing, failingHost, failingError, dead, deadReason } = facts
  const common = { area: 'webhooks', subject: 'outgoing calls' } as const
  const findings: DoctorFinding[] = []
  if (due > 0) {
    findings.push({
      ...common,
      code: hasSender ? 'calls_late' : 'calls_not_sent',
      level: hasSender ? 'WARN' : 'ERROR',
      what: `${count(due)} due, the first for ${Math.round(dueSeconds / 60)} minutes${hasSender ? '' : ', and no server sends them'}.`,
      why: 'Receivers learn too late of what has happened.',
      advice: hasSender
        ? 'Raise webhooks-concurrency and webhooks-host-concurrency, or make the receivers faster.'
        : 'Start a server with the service webhooks on this database.',
    })
  }
  if (failing > 0) {
    findings.push({
      ...common,
      code: 'calls_failing',
      level: 'INFO',
      what: `${count(failing)} waiting after a failed attempt, most of them for ${failingHost ?? ''}: ${failingError ?? ''}.`,
      why: 'They are sent again with growing pauses, and put aside after the last attempt.',
      advice: 'Look at the receiver. `rowhouse calls --waiting` lists them.',
    })
  }
  if (dead > 0) {
    findings.push({
      ...common,
      code: 'calls_dead',
      level: 'WARN',
      what: `${count(dead, 'was', 'were')} put aside in the last day, most of them because: ${deadReason ?? ''}.`,
      why: 'Their receivers do not know what has happened.',
      advice:
        'Remove the cause, then send them again: `rowhouse calls --dead` lists them, `rowhouse calls send` sends them.',
    })
  }
  return findings
}

const count = (calls: number, one = 'is', several = 'are'): string =>
  calls >= most ? `${most} or more calls ${several}` : calls === 1 ? `1 call ${one}` : `${calls} calls ${several}`
