// Reads from the catalogue which tables can be audited, and which are.
import { triggersOf, type AuditedTable } from './audit.ts'

/** Runs a statement on the database. */
export type RunQuery = (
  text: string,
  values?: unknown[],
) => Promise<{ readonly rows: readonly Record<string, unknown>[] }>

/** A name does not refer to a table that can be audited. */
export class AuditError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'AuditError'
  }
}

type Found = {
  readonly schema: string
  readonly name: string
  readonly kind: string
  readonly is_partition: boolean
  readonly is_own: boolean
  readonly root: string | null
  readonly has_children: boolean
  readonly has_parents: boolean
}

/** Levels of the table itself and of the tables that inherit from it, without partitions. */
const tableSql = `
select schema.nspname::text as schema, relation.relname::text as name, relation.relkind::text as kind,
  relation.relispartition as is_partition,
  schema.nspname in ('pg_catalog', 'information_schema', 'rowhouse_audit') or relation.relpersistence = 't' as is_own,
  case when relation.relispartition then pg_catalog.pg_partition_root(relation.oid)::regclass::text end as root,
  exists (select from pg_catalog.pg_inherits where inhparent = relation.oid) as has_children,
  exists (select from pg_catalog.pg_inherits where inhrelid = relation.oid) as has_parents
from pg_catalog.pg_class as relation join pg_catalog.pg_namespace as schema on schema.oid = relation.relnamespace`

const kinds: Readonly<Record<string, string>> = {
  v: 'a view: audit the tables that it shows',
  m: 'a materialized view: audit the tables that it shows',
  f: 'a foreign table: audit the table on its own server',
  S: 'a sequence',
  i: 'an index',
  I: 'an index',
  c: 'a type',
}

const heirsSql = `
with recursive heir (oid) as (
  select inhrelid from pg_catalog.pg_inherits where inhparent = $1::pg_catalog.regclass
  union
  select inhrelid from pg_catalog.pg_inherits join heir on inhparent = heir.oid
)
${tableSql} join heir on heir.oid = relation.oid where not relation.relispartition order by 1, 2`

/**
 * The table of that name, and the tables that inherit from it, whose rows are changed with its own.
 *
 * @param name as in SQL, with or without a schema
 * @throws AuditError
 */
export async function findTables(query: RunQuery, name: string): Promise<readonly AuditedTable[]> {
  const { rows: ids } = await query('select pg_catalog.to_regclass($1)::text as id', [name]).catch((error: unknown) => {
    throw new AuditError(
      `${name} is not the name of a table: ${error instanceof Error ? error.message : String(error)}`,
    )
  })
  const id = ids[0]?.id
  if (typeof id !== 'string') throw new AuditError(`There is no table ${name}.`)
  const [found] = (await query(`${tableSql} where relation.oid = $1::pg_catalog.regclass`, [id])).rows as Found[]
  if (!found) throw new AuditError(`There is no table ${name}.`)
  if (found.is_own) throw new AuditError(`${name} belongs to the server or to the session and cannot be audited.`)
  const reason = kinds[found.kind]
  if (reason !== undefined) throw new AuditError(`${name} is ${reason}.`)
  if (found.is_partition) throw new AuditError(`${name} is a partition: audit the whole table, ${found.root ?? ''}.`)
  const heirs = (found.kind === 'r' ? (await query(heirsSql, [id])).rows : []) as readonly Found[]
  return [found, ...heirs].map((table) => ({ schema: table.schema, name: table.name, level: levelOf(table) }))
}

/**
 * Triggers for statements see the rows of all children, but do not run for statements that name a child. Those for rows
 * are copied to every partition, also to future ones.
 */
const levelOf = ({ kind, has_children: hasChildren, has_parents: hasParents }: Found): AuditedTable['level'] =>
  kind === 'p' || hasChildren || hasParents ? 'row' : 'statement'

/** Whether the database has the record of changes. */
export async function isSetUp(query: RunQuery): Promise<boolean> {
  const { rows } = await query("select pg_catalog.to_regclass('rowhouse_audit.changes') is not null as exists")
  return rows[0]?.exists === true
}

export type AuditStatus = {
  readonly table: string
  /** What keeps changes from being recorded, or lets them pass. Empty if all is well. */
  readonly problems: readonly string[]
}

type Triggers = Found & { readonly table: string; readonly triggers: Readonly<Record<string, string>> }

/** Tables with triggers of the audit, or with a parent that has them. */
const statusSql = `
select table_row.*, pg_catalog.quote_ident(table_row.schema) || '.' || pg_catalog.quote_ident(table_row.name) as table,
  coalesce((
    select pg_catalog.jsonb_object_agg(tgname, case
      when tgqual is null and tgattr::text = '' and function.pronamespace = 'rowhouse_audit'::pg_catalog.regnamespace
      then tgenabled::text else 'other' end)
    from pg_catalog.pg_trigger join pg_catalog.pg_proc as function on function.oid = tgfoid
    where tgrelid = table_row.oid and tgname like 'rowhouse\\_audit\\_%'), '{}') as triggers
from (${tableSql.replace('select schema', 'select relation.oid, schema')} where relation.relkind in ('r', 'p') and not relation.relispartition) as table_row
where exists (
    select from pg_catalog.pg_trigger where tgrelid = table_row.oid and tgname like 'rowhouse\\_audit\\_%')
  or exists (
    select from pg_catalog.pg_inherits join pg_catalog.pg_trigger on tgrelid = inhparent
    where inhrelid = table_row.oid and tgname like 'rowhouse\\_audit\\_%')
order by 3, 4`

/** The audited tables, with what is wrong about each. */
export async function auditStatus(query: RunQuery): Promise<readonly AuditStatus[]> {
  const { rows } = await query(statusSql)
  return (rows as unknown as readonly Triggers[]).map((row) => ({ table: row.table, problems: problemsOf(row) }))
}

function problemsOf(row: Triggers): readonly string[] {
  const { triggers } = row
  if (Object.keys(triggers).length === 0) return ['inherits from an audited table, but is not audited itself']
  return triggersOf({ level: levelOf(row) }).flatMap((name) => {
    const state = triggers[name]
    if (state === undefined) return [`the trigger ${name} is missing`]
    if (state === 'other') return [`the trigger ${name} has been replaced by another one`]
    if (state === 'D') return [`the trigger ${name} is disabled`]
    if (state !== 'A') return [`the trigger ${name} can be suppressed by session_replication_role`]
    return []
  })
}

/** What is wrong about the record itself, in the table and its partitions. */
const recordSql = `
with record as (
  select relation.*, oid = 'rowhouse_audit.changes'::pg_catalog.regclass as is_root
  from pg_catalog.pg_class as relation
  where oid in (select relid from pg_catalog.pg_partition_tree('rowhouse_audit.changes'))
)
select record.oid::pg_catalog.regclass::text as table, case
    when tgname is null then 'the trigger ' || guard || ' is missing'
    when tgfoid <> 'rowhouse_audit.refuse_change()'::pg_catalog.regprocedure or tgqual is not null or tgattr::text <> ''
      then 'the trigger ' || guard || ' has been replaced by another one'
    when tgenabled = 'D' then 'the trigger ' || guard || ' is disabled'
    else 'the trigger ' || guard || ' can be suppressed by session_replication_role' end as problem
from record cross join (values ('refuse_change'), ('refuse_truncate')) as guards (guard)
left join pg_catalog.pg_trigger on tgrelid = record.oid and tgname = guard
where tgname is null or tgenabled <> 'A' or tgqual is not null or tgattr::text <> ''
  or tgfoid <> 'rowhouse_audit.refuse_change()'::pg_catalog.regprocedure
union all
select oid::pg_catalog.regclass::text, 'row level security is not enabled and forced' from record
where not relrowsecurity or not relforcerowsecurity
union all
select record.oid::pg_catalog.regclass::text, 'there is another policy, ' || polname
from record join pg_catalog.pg_policy on polrelid = record.oid
where not (is_root and (polname, polcmd, polroles) in (
  ('read', 'r', array['rowhouse_audit_reader'::pg_catalog.regrole::oid]),
  ('record', 'a', array['rowhouse_audit_writer'::pg_catalog.regrole::oid])))
union all
select record.oid::pg_catalog.regclass::text, 'the policy ' || expected.name || ' is missing'
from record cross join (values ('read'), ('record')) as expected (name)
where is_root and not exists (select from pg_catalog.pg_policy where polrelid = record.oid and polname = expected.name)
union all
select distinct record.oid::pg_catalog.regclass::text,
  case when grantee = 0 then 'PUBLIC' else pg_catalog.pg_get_userbyid(grantee)::text end || ' has the privilege ' || privilege_type
from record cross join pg_catalog.aclexplode(relacl)
where grantee <> relowner and not (is_root and (grantee, privilege_type) in (
  ('rowhouse_audit_reader'::pg_catalog.regrole, 'SELECT'), ('rowhouse_audit_writer'::pg_catalog.regrole, 'INSERT')))
union all
select 'rowhouse_audit.' || expected.name, 'is not a function with the rights of rowhouse_audit_writer'
from (values ('record_statement'), ('record_row')) as expected (name)
where not exists (
  select from pg_catalog.pg_proc where oid = pg_catalog.to_regprocedure('rowhouse_audit.' || expected.name || '()')
    and prosecdef and proowner = 'rowhouse_audit_writer'::pg_catalog.regrole)
order by 1, 2`

/** What lets changes be read, altered or lost in the record itself. The database must have it. */
export async function recordStatus(query: RunQuery): Promise<readonly AuditStatus[]> {
  const { rows } = await query(recordSql)
  const found = new Map<string, string[]>()
  for (const { table, problem } of rows) {
    found.set(String(table), [...(found.get(String(table)) ?? []), String(problem)])
  }
  return [...found].map(([table, problems]) => ({ table, problems }))
}

export type PartitionStatus = {
  /** Months for which partitions exist from now on, this one included. */
  readonly monthsAhead: number
  /** Whether rows are in the default partition. */
  readonly hasDefaultRows: boolean
}

/** Whether new changes have partitions of their own. The caller must be able to read the record to see the rows. */
export async function partitionStatus(query: RunQuery): Promise<PartitionStatus> {
  const { rows } = await query(`
    select count(*)::integer as months, coalesce((
      select reltuples > 0 or relpages > 0 or pg_catalog.pg_relation_size(oid) > 0 from pg_catalog.pg_class
      where oid = pg_catalog.to_regclass('rowhouse_audit.changes_default')), false) as default_rows
    from pg_catalog.pg_inherits join pg_catalog.pg_class as relation on relation.oid = inhrelid
    where inhparent = pg_catalog.to_regclass('rowhouse_audit.changes') and relname ~ '^changes_\\d{4}_\\d{2}$'
      and relname >= 'changes_' || pg_catalog.to_char(pg_catalog.now() at time zone 'UTC', 'YYYY_MM')`)
  const [row] = rows
  return { monthsAhead: Number(row?.months ?? 0), hasDefaultRows: row?.default_rows === true }
}
