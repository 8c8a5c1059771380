// What a role may read of a table, from the catalogue: privileges of columns, and the policies of row-level security as conditions.
import { JsonStatement } from '../../../postgres/json-statement.ts'
import type { Database } from '../../../postgres/database.ts'
import { set, resetRole, setJitOff, setReadOnly, SettingsText } from '../../../identity/settings-text.ts'
import type { SettingsStatement } from '../../../rest/database.ts'
import { arrayText } from '../../../rest/sql/parameter.ts'

export type RelationColumn = {
  /** `attnum`. */
  readonly number: number
  readonly name: string
  /** `typname`. */
  readonly typeName: string
  /** The type in SQL, without its modifier: `"public"."mood"`, `character varying`. */
  readonly typeText: string
  /** Oid of the type; of a domain, that of the type that it is based on. */
  readonly baseType: number
  /** How `to_jsonb` writes values of a type that is not PostgreSQL's own: as a string, as an array of strings, or in another way. */
  readonly ownForm: 'text' | 'array' | null
  readonly isEnum: boolean
  /** Whether it belongs to the primary key. */
  readonly isKey: boolean
  /** Whether the role may select it. */
  readonly isReadable: boolean
}

/** When a role may read or write a row. */
export type RowCondition =
  | { readonly kind: 'always' }
  | { readonly kind: 'never' }
  | {
      readonly kind: 'expression'
      /** SQL, whose columns are unqualified or qualified by the name of the table. */
      readonly sql: string
      /** Numbers of the columns that it mentions. */
      readonly columns: readonly number[]
      /** Whether it may depend on more than the row: claims, settings, time, other tables. */
      readonly dependsOnCaller: boolean
    }

export type RelationAccess = {
  readonly oid: number
  readonly schema: string
  readonly name: string
  /** In the order of their numbers. */
  readonly columns: readonly RelationColumn[]
  /** Whether the log has the rows of its partitions as its own. It does not report changes of such a table's policies and privileges. */
  readonly isPartitioned: boolean
  /** Whether row-level security is enabled, even if it does not apply to the role. */
  readonly hasRowSecurity: boolean
  readonly select: RowCondition
  readonly insert: RowCondition
}

type Policy = {
  readonly isPermissive: boolean
  readonly command: '*' | 'r' | 'a'
  readonly using: string | null
  readonly check: string | null
  readonly columns: readonly number[]
  readonly dependsOnCaller: boolean
}

/** A row of the statement: see there. */
type DescribedRelation = Omit<RelationAccess, 'select' | 'insert'> & {
  /** Whether the policies apply to the role. */
  readonly isRestricted: boolean
  readonly mayInsert: boolean
  readonly policies: readonly Policy[]
}

/**
 * Nodes of expressions whose value depends on nothing but columns and the functions that they name: no subquery, no setting, no
 * current user or time. https://github.com/postgres/postgres/blob/master/src/include/nodes/primnodes.h
 */
const plainNodes = [
  'VAR',
  'CONST',
  'OPEXPR',
  'FUNCEXPR',
  'BOOLEXPR',
  'SCALARARRAYOPEXPR',
  'DISTINCTEXPR',
  'NULLIFEXPR',
  'NULLTEST',
  'BOOLEANTEST',
  'RELABELTYPE',
  'CASE',
  'CASEEXPR',
  'WHEN',
  'CASEWHEN',
  'COALESCE',
  'COALESCEEXPR',
  'ARRAY',
  'ARRAYEXPR',
]

/** Functions of extensions and users may be declared immutable although they read a setting. */
const firstOwnOid = 16384

const dependsOnCaller = `exists (
    select from regexp_matches(tree.text, '\\{([A-Z0-9_]+)', 'g') as found(node)
    where found.node[1] <> all ('{${plainNodes.join()}}'::text[])
  )
  or exists (
    select from regexp_matches(tree.text, ':(?:funcid|opfuncid) (\\d+)', 'g') as found(number)
    where found.number[1]::oid >= ${firstOwnOid} or not exists (
      select from pg_catalog.pg_proc f where f.oid = found.number[1]::oid and f.provolatile = 'i'
    )
  )`

const policies = `(
  select coalesce(json_agg(json_build_object(
    'isPermissive', p.polpermissive,
    'command', p.polcmd,
    'using', pg_catalog.pg_get_expr(p.polqual, p.polrelid),
    'check', pg_catalog.pg_get_expr(p.polwithcheck, p.polrelid),
    'columns', (
      select coalesce(json_agg(distinct d.refobjsubid), '[]')
      from pg_catalog.pg_depend d
      where d.classid = 'pg_catalog.pg_policy'::regclass and d.objid = p.oid
        and d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid = p.polrelid and d.refobjsubid > 0
    ),
    'dependsOnCaller', ${dependsOnCaller}
  ) order by p.polname), '[]')
  from pg_catalog.pg_policy p,
    lateral (select concat(p.polqual::text, ' ', p.polwithcheck::text)) as tree(text)
  where p.polrelid = c.oid and p.polcmd in ('*', 'r', 'a')
    and exists (
      select from unnest(p.polroles) as r(oid)
      where case r.oid when 0 then true else pg_catalog.pg_has_role(role.name, r.oid, 'usage') end
    )
)`

const columns = `(
  select coalesce(json_agg(json_build_object(
    'number', a.attnum,
    'name', a.attname,
    'typeName', t.typname,
    'typeText', pg_catalog.format_type(a.atttypid, -1),
    'baseType', b.oid::bigint,
    'ownForm', case
      when b.oid < ${firstOwnOid} then null
      when ${isText('b')} then 'text'
      when b.typcategory = 'A' and exists (
        select from pg_catalog.pg_type e where e.oid = b.typelem and e.typdelim = ',' and ${isText('e')}
      ) then 'array'
    end,
    'isEnum', b.typtype = 'e',
    'isKey', coalesce(a.attnum = any (k.conkey), false),
    'isReadable', pg_catalog.has_schema_privilege(role.name, n.oid, 'usage')
      and pg_catalog.has_column_privilege(role.name, c.oid, a.attnum, 'select')
  ) order by a.attnum), '[]')
  from pg_catalog.pg_attribute a
  join pg_catalog.pg_type t on t.oid = a.atttypid,
    lateral (
      with recursive base as (
        select t.oid, t.typtype, t.typbasetype
        union all
        select d.oid, d.typtype, d.typbasetype from base join pg_catalog.pg_type d on d.oid = base.typbasetype
      )
      select base_type.* from base join pg_catalog.pg_type base_type using (oid) where base.typtype <> 'd'
    ) as b
  where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
)`

/** Whether a type that is not PostgreSQL's own is a string in JSON: see `sql/introspection/text-types.sql`. */
function isText(type: string): string {
  return `(${type}.typtype in ('b', 'e', 'r', 'm') and ${type}.typelem = 0 and not exists (
        select from pg_catalog.pg_cast cast_to_json
        where cast_to_json.castsource = ${type}.oid and cast_to_json.casttarget in (114, 3802)
      ))`
}

/** Describes the relation `c` in the schema `n` for the role `role.name`. */
const described = `json_build_object(
  'oid', c.oid::bigint,
  'schema', n.nspname,
  'name', c.relname,
  'columns', ${columns},
  'isPartitioned', c.relkind = 'p',
  'hasRowSecurity', c.relrowsecurity,
  'isRestricted', c.relrowsecurity and not r.rolbypassrls and not r.rolsuper
    and (c.relforcerowsecurity or not pg_catalog.pg_has_role(r.oid, c.relowner, 'usage')),
  'mayInsert', pg_catalog.has_schema_privilege(role.name, n.oid, 'usage')
    and pg_catalog.has_any_column_privilege(role.name, c.oid, 'insert'),
  'policies', case when c.relrowsecurity then ${policies} else '[]' end
)`

/** Whether the login of the server may act as the role `r`. Where no policy is evaluated, nothing else would find out. */
const mayBecome = `pg_catalog.pg_has_role(session_user, r.oid,
    case when pg_catalog.current_setting('server_version_num')::int < 160000 then 'member' else 'set' end)`

const from = `from (select $1::text) as role(name)
  join pg_catalog.pg_roles r on r.rolname = role.name and ${mayBecome},
  pg_catalog.pg_class c
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  left join pg_catalog.pg_constraint k on k.conrelid = c.oid and k.contype = 'p'`

const read = { access: 'read', hasNoEffect: true } as const

const byName = new JsonStatement(`select ${described}::text ${from} where n.nspname = $2 and c.relname = $3`, read)

/** What the publication `name` of `pg_publication` reports, as its parameter `publish` has it. */
export const publishedActions = (name: string): string =>
  `pg_catalog.concat_ws(', ', ${['insert', 'update', 'delete', 'truncate']
    .map((action) => `case when ${name}.pub${action} then '${action}' end`)
    .join(', ')})`

/** The relations of a publication, with what a subscription needs to know of the moment when it begins. */
const published = new JsonStatement(
  `select pg_catalog.pg_current_snapshot()::text, pg_catalog.pg_current_wal_insert_lsn()::text, (
    select coalesce(json_agg(${described}), '[]')
    ${from}
    where (n.nspname, c.relname) in (
      select p.schemaname, p.tablename
      from pg_catalog.pg_publication_tables p
      join unnest($3::text[], $4::text[]) as named(schema, name)
        on named.schema in ('*', p.schemaname) and named.name in ('*', p.tablename)
      where p.pubname = $2
    )
  )::text, (select ${publishedActions('p')} from pg_catalog.pg_publication p where p.pubname = $2)`,
  read,
)

// Conditions are written with the schemas of everything that is not PostgreSQL's own.
const settingsText = new SettingsText([setReadOnly, resetRole, set('search_path'), setJitOff])
export const catalogueSettings: SettingsStatement = {
  text: settingsText.plain,
  values: [''],
  hasNoEffect: true,
  texts: settingsText,
  checksSession: false,
}

function relationAccess(relation: DescribedRelation): RelationAccess {
  const { oid, schema, name, isPartitioned, hasRowSecurity, columns, isRestricted, policies, mayInsert } = relation
  const maySelect = columns.some(({ isReadable }) => isReadable)
  const condition = (command: 'r' | 'a', isGranted: boolean): RowCondition =>
    !isGranted ? { kind: 'never' } : isRestricted ? conditionOf(policies, command) : { kind: 'always' }
  return {
    oid,
    schema,
    name,
    columns,
    isPartitioned,
    hasRowSecurity,
    select: condition('r', maySelect),
    insert: condition('a', mayInsert),
  }
}

/** Combines policies as Postgres does: one of the permissive ones must be true, and all of the restrictive ones. */
function conditionOf(all: readonly Policy[], command: 'r' | 'a'): RowCondition {
  const expressionOf = ({ using, check }: Policy): string | null => (command === 'a' ? (check ?? using) : using)
  const applicable = all.filter((policy) => ['*', command].includes(policy.command) && expressionOf(policy) !== null)
  const expressions = (isPermissive: boolean): (string | null)[] =>
    applicable.filter((policy) => policy.isPermissive === isPermissive).map(expressionOf)
  const permissive = expressions(true)
  const restrictive = expressions(false).filter((expression) => expression !== 'true')
  if (permissive.length === 0) return { kind: 'never' }
  const isOpen = permissive.includes('true')
  if (isOpen && restrictive.length === 0) return { kind: 'always' }
  const needed = applicable.filter((policy) => !isOpen || !policy.isPermissive)
  return {
    kind: 'expression',
    sql: [
      ...(isOpen ? [] : [`(${permissive.map((it) => `(${it})`).join(' or ')})`]),
      ...restrictive.map((it) => `(${it})`),
    ].join(' and '),
    columns: [...new Set(needed.flatMap((policy) => policy.columns))],
    dependsOnCaller: needed.some((policy) => policy.dependsOnCaller),
  }
}

/** Describes a table for a role. Undefined if the table or the role does not exist, or the server may not act as the role. */
export async function describeRelation(
  database: Pick<Database, 'runWith'>,
  role: string,
  schema: string,
  name: string,
): Promise<RelationAccess | undefined> {
  const [[text] = []] = await database.runWith(byName, catalogueSettings, [role, schema, name])
  return text ? relationAccess(JSON.parse(text) as DescribedRelation) : undefined
}

export type PublishedRelations = {
  /** What is committed now. */
  readonly snapshot: string
  /** The end of the log. */
  readonly lsn: string
  readonly relations: readonly RelationAccess[]
  /** What the publication reports, such as `insert, update, delete, truncate`. */
  readonly actions: string
}

/** Describes the tables of a publication for a role. `*` stands for any schema or name. */
export async function describePublished(
  database: Pick<Database, 'runWith'>,
  role: string,
  publication: string,
  names: readonly { readonly schema: string; readonly table: string }[],
): Promise<PublishedRelations> {
  const [schemas, tables] = [names.map(({ schema }) => schema), names.map(({ table }) => table)].map(arrayText)
  const [[snapshot, lsn, text, actions] = []] = await database.runWith(published, catalogueSettings, [
    role,
    publication,
    schemas ?? '{}',
    tables ?? '{}',
  ])
  const relations = JSON.parse(text ?? '[]') as readonly DescribedRelation[]
  return {
    snapshot: snapshot ?? '',
    lsn: lsn ?? '0/0',
    relations: relations.map(relationAccess),
    actions: actions ?? '',
  }
}
