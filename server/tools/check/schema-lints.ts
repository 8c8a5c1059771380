// Lints on tables, indexes, columns and extensions, as in splinter.
import { identifier } from '../../text/sql-text.ts'
import type { Index, Relation } from '../../catalogue/description.ts'
import { arrayText, finding, type LintFinding } from './finding.ts'
import type { PolicyExpressions } from './policy-expression.ts'
import type { SchemaView } from './schema-view.ts'
import { onCopy } from './trial-copy.ts'

const table = ({ schema, name }: Relation): LintFinding['object'] => ({ type: 'table', schema, name })

const startsWith = (keys: readonly number[], columns: readonly number[]): boolean =>
  columns.every((column, index) => keys[index] === column)

/** Estimated rows below which PostgreSQL rarely prefers an index. */
export const fewRows = 10_000

/** Foreign keys without an index: deleting a referenced row scans the whole table. */
export function unindexedForeignKeys(view: SchemaView): LintFinding[] {
  const { foreignKeys, indexes } = view.catalogue
  return foreignKeys.flatMap((key) => {
    const relation = view.relation(key.relation)
    if (!relation || relation.isOfExtension || !view.isOwnSchema(relation.quotedSchema)) return []
    const isCovered = indexes.some(
      (index) => index.relation === key.relation && index.isValid && startsWith(index.keys, key.columns),
    )
    if (isCovered) return []
    const columns = columnsOf(relation, key.columns)
    const fix = (table: string): string => `create index on ${table} (${columns.join(', ')});`
    return [
      finding({
        code: 'unindexed_foreign_keys',
        level: 'INFO',
        object: table(relation),
        key: `unindexed_foreign_keys_${relation.quotedSchema}_${relation.name}_${key.name}`,
        reason: `No index covers the foreign key ${key.name}, so deleting or changing a row of ${key.referenced} scans the whole table.`,
        // A partition gets the indexes of its parent.
        fix: fix(relation.quoted),
        trial: onCopy(relation, fix),
        metadata: { fkey_name: key.name, fkey_columns: key.columns },
        dismissed: key.isOfPartition ? 'The key belongs to the partitioned table, which has the finding.' : null,
      }),
    ]
  })
}

const columnsOf = ({ columns }: Relation, numbers: readonly number[]): string[] =>
  numbers.map((number) => columns.find((column) => column.number === number)?.quoted ?? '')

export function noPrimaryKey(view: SchemaView): LintFinding[] {
  const keyed = new Set(view.catalogue.indexes.filter(({ isPrimary }) => isPrimary).map(({ relation }) => relation))
  return view.catalogue.relations
    .filter((it) => it.kind === 'r' && !it.isOfExtension && view.isOwnSchema(it.schema) && !keyed.has(it.oid))
    .map((relation) => {
      const isTaken = relation.columns.some(({ name }) => name === 'id')
      const isMendable = !isTaken && !relation.isPartition
      const fix = (name: string): string =>
        `alter table ${name} add column id bigint generated always as identity primary key;`
      return finding({
        code: 'no_primary_key',
        level: 'INFO',
        object: table(relation),
        key: `no_primary_key_${relation.schema}_${relation.name}`,
        reason:
          'Without a primary key, clients cannot address, embed or upsert single rows, and replication compares whole rows.',
        fix: isMendable ? fix(relation.quoted) : null,
        trial: isMendable ? onCopy(relation, fix) : null,
        advice: relation.isPartition
          ? 'Add the primary key to the partitioned table.'
          : `If columns identify a row already: alter table ${relation.quoted} add primary key (…);`,
      })
    })
}

/** Indexes that no query used since the statistics were reset. */
export function unusedIndexes(view: SchemaView, expressions: PolicyExpressions): LintFinding[] {
  const { indexes } = view.catalogue
  return indexes.flatMap((index) => {
    const relation = view.relation(index.relation)
    if (!relation || index.scans !== 0 || index.isUnique || index.isPrimary) return []
    if (relation.isOfExtension || !view.isOwnSchema(relation.schema)) return []
    return [
      finding({
        code: 'unused_index',
        level: 'INFO',
        object: table(relation),
        key: `unused_index_${relation.schema}_${relation.name}_${index.name}`,
        reason: `No query has used the index ${index.name} since the statistics were reset, but every write maintains it.`,
        fix: `drop index ${index.quoted};`,
        metadata: { index: index.name },
        dismissed: whyKept(index, relation, view, expressions),
      }),
    ]
  })
}

function whyKept(index: Index, relation: Relation, view: SchemaView, expressions: PolicyExpressions): string | null {
  if (relation.rows < fewRows)
    return `The table has fewer than ${fewRows} rows, for which PostgreSQL rarely uses an index.`
  const key = view.catalogue.foreignKeys.find(
    ({ relation: owner, columns }) => owner === relation.oid && startsWith(index.keys, columns),
  )
  if (key) return `The index covers the foreign key ${key.name}.`
  // The lint policy_column_without_index asks for it, and a database that was just migrated has not used it yet.
  const policy = view
    .policiesOf(relation)
    .find(({ usingTree }) =>
      expressions
        .condition(usingTree)
        .some((part) => part.some((it) => expressions.comparedColumns(it).includes(index.keys[0] ?? 0))),
    )
  if (policy) return `The policy ${policy.name} looks for rows by its column.`
  if (index.isOfPartition) return 'The index belongs to that of the partitioned table.'
  return index.isOfConstraint ? 'A constraint needs the index.' : null
}

/** Indexes of one table whose definitions differ in their name only. */
export function duplicateIndexes(view: SchemaView): LintFinding[] {
  const groups = new Map<string, Index[]>()
  for (const index of view.catalogue.indexes) {
    const key = JSON.stringify([index.relation, index.definition.replaceAll(index.name, '')])
    groups.set(key, [...(groups.get(key) ?? []), index])
  }
  return [...groups.values()].flatMap((group) => {
    const relation = view.relation(group[0]?.relation ?? 0)
    if (!relation || group.length < 2 || !(relation.kind === 'r' || relation.kind === 'm')) return []
    if (relation.isOfExtension || !view.isOwnSchema(relation.schema)) return []
    const names = group.map(({ name }) => name).sort()
    const kept = group.find((it) => it.isPrimary || it.isOfConstraint) ?? group[0]
    const droppable = group.filter((it) => it !== kept && !it.isOfConstraint && !it.isOfPartition)
    return [
      finding({
        code: 'duplicate_index',
        level: 'WARN',
        object: { ...table(relation), type: relation.kind === 'r' ? 'table' : 'materialized view' },
        key: `duplicate_index_${relation.schema}_${relation.name}_${arrayText(names)}`,
        reason: `The indexes ${names.join(', ')} are identical, and every write maintains all of them.`,
        fix: droppable.length > 0 ? droppable.map(({ quoted }) => `drop index ${quoted};`).join('\n') : null,
        advice: droppable.length > 0 ? null : 'Constraints own the indexes: drop one of the constraints.',
        metadata: { indexes: names },
      }),
    ]
  })
}

export const extensionsInPublic = ({ catalogue }: SchemaView): LintFinding[] =>
  catalogue.extensions
    .filter(({ name, schema }) => schema === 'public' && name !== 'plpgsql')
    .map(({ name, isRelocatable }) =>
      finding({
        code: 'extension_in_public',
        level: 'WARN',
        object: { type: 'extension', schema: 'public', name },
        key: `extension_in_public_${name}`,
        reason: 'The functions and types of the extension are in a schema of the API, where roles can call them.',
        fix: isRelocatable
          ? `create schema if not exists extensions;\ngrant usage on schema extensions to public;\nalter extension ${identifier(name)} set schema extensions;`
          : null,
        advice: isRelocatable
          ? 'Add the schema extensions to the search_path of roles and functions that use it.'
          : 'The extension cannot be moved: drop it, and create it in the schema extensions.',
      }),
    )

const unsupported = new Set([
  'regcollation',
  'regconfig',
  'regdictionary',
  'regnamespace',
  'regoper',
  'regoperator',
  'regproc',
  'regprocedure',
])

/** Columns whose values are oids of the catalogue, which `pg_upgrade` does not preserve. */
export const unsupportedRegTypes = ({ catalogue }: SchemaView): LintFinding[] =>
  catalogue.relations
    .filter(({ schema }) => schema !== 'pgsodium')
    .flatMap((relation) =>
      relation.columns
        .filter(({ type, typeSchema }) => typeSchema === 'pg_catalog' && unsupported.has(type))
        .map((column) => {
          const isTable = relation.kind === 'r' || relation.kind === 'p'
          const fix = (name: string): string => `alter table ${name} alter column ${column.quoted} type text;`
          return finding({
            code: 'unsupported_reg_types',
            level: 'WARN',
            object: table(relation),
            key: `unsupported_reg_types_${relation.schema}_${relation.name}_${column.name}`,
            reason: `The column ${column.name} has the type ${column.type}, with which pg_upgrade refuses to upgrade the database.`,
            fix: isTable ? fix(relation.quoted) : null,
            trial: isTable ? onCopy(relation, fix) : null,
            advice: 'Cast the text where the type is needed.',
            metadata: { column: column.name },
          })
        }),
    )

export const tableBloat = ({ catalogue }: SchemaView): LintFinding[] =>
  catalogue.bloated.map(({ schema, name }) =>
    finding({
      code: 'table_bloat',
      level: 'INFO',
      object: { type: 'table', schema, name },
      key: `table_bloat_${schema}_${name}`,
      reason:
        'By the statistics, the table takes more than 70 times the space that its rows need, so scans read mostly empty pages.',
      advice:
        `VACUUM FULL ${identifier(schema)}.${identifier(name)} rewrites the table; it locks the table meanwhile and cannot ` +
        'run in a migration, which is a transaction.',
    }),
  )

/** Foreign keys to a unique column of the schema auth, which its owner may change or drop. */
export const foreignKeysToAuth = (view: SchemaView): LintFinding[] =>
  view.catalogue.foreignKeys
    .filter(({ referencedSchema, refersToUnique }) => referencedSchema === 'auth' && refersToUnique === true)
    .flatMap((key) => {
      const relation = view.relation(key.relation)
      if (!relation) return []
      return [
        finding({
          code: 'fkey_to_auth_unique',
          level: 'ERROR',
          object: { ...table(relation), type: 'table' },
          key: `fkey_to_auth_unique_${relation.schema}_${relation.name}_${key.name}`,
          reason: `The foreign key ${key.name} refers to a unique column of ${key.referenced}, which keeps the service that owns it from changing it.`,
          fix: `alter table ${relation.quoted} drop constraint ${identifier(key.name)};`,
          advice: `Refer to the primary key of ${key.referenced} instead${key.primaryKey ? `: (${key.primaryKey.join(', ')})` : ''}.`,
          metadata: { foreign_key: key.name },
          // The schema auth is the service's own: there it may refer as it likes.
          dismissed: relation.schema === 'auth' ? 'The table belongs to the schema auth itself.' : null,
        }),
      ]
    })

export const outdatedExtensions = ({ catalogue }: SchemaView): LintFinding[] =>
  catalogue.extensions
    .filter(({ isOutdated }) => isOutdated === true)
    .map(({ name, installed, default: available }) =>
      finding({
        code: 'extension_versions_outdated',
        level: 'WARN',
        object: { type: 'extension', schema: null, name },
        key: `extension_versions_outdated_${name}_${installed}`,
        reason: `The extension has version ${installed}, but ${available} is available, which may mend security holes.`,
        fix: `alter extension ${identifier(name)} update;`,
        metadata: { installed_version: installed, default_version: available },
      }),
    )
