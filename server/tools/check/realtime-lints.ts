// Lints on what clients can listen to: the tables of the publication `supabase_realtime`, and the policies of
// `realtime.messages`, which decide about private channels.
import type { Relation } from '../../catalogue/description.ts'
import type { Published } from './catalogue.ts'
import { finding, type LintFinding } from './finding.ts'
import { isAlwaysTrue } from './policy-edit.ts'
import type { PolicyExpressions } from './policy-expression.ts'
import type { SchemaView } from './schema-view.ts'

const object = ({ schema, name }: Relation): LintFinding['object'] => ({ type: 'table', schema, name })

const publishedTables = (view: SchemaView): readonly (Published & { readonly table: Relation })[] =>
  view.catalogue.published.flatMap((published) => {
    const table = view.relation(published.relation)
    return table ? [{ ...published, table }] : []
  })

const keyedTables = (view: SchemaView): ReadonlySet<number> =>
  new Set(view.catalogue.indexes.filter(({ isPrimary }) => isPrimary).map(({ relation }) => relation))

/** Published tables without row-level security, whose changes reach every client that has the privilege. */
export function publishedWithoutRls(view: SchemaView): LintFinding[] {
  return publishedTables(view).flatMap(({ table }) => {
    const roles = view.apiRoles.filter((role) => view.canUse(role, table, 'selectColumn')).map(({ name }) => name)
    if (table.rls || roles.length === 0) return []
    return [
      finding({
        code: 'realtime_without_rls',
        level: 'WARN',
        object: object(table),
        key: `realtime_without_rls_${table.schema}_${table.name}`,
        reason: `The table is in the publication supabase_realtime without row-level security, so each client of ${roles.join(' and ')} can listen to the changes of all rows.`,
        fix: `alter table ${table.quoted} enable row level security;`,
        advice: 'Create policies that say who may read which rows.',
        isOfSplinter: false,
      }),
    ]
  })
}

/** Published tables whose rows have no identity: clients get no values, and PostgreSQL may refuse to change rows. */
export function publishedWithoutKey(view: SchemaView): LintFinding[] {
  const keyed = keyedTables(view)
  return publishedTables(view).flatMap(({ table, identity }) => {
    const isFixed = identity === 'nothing' || (identity === 'default' && !keyed.has(table.oid))
    if (!isFixed && keyed.has(table.oid)) return []
    return [
      finding({
        code: 'realtime_without_key',
        level: isFixed ? 'ERROR' : 'WARN',
        object: object(table),
        key: `realtime_without_key_${table.schema}_${table.name}`,
        reason: isFixed
          ? 'The table is in the publication supabase_realtime without a replica identity, so PostgreSQL refuses UPDATE and DELETE on it.'
          : 'The table is in the publication supabase_realtime without a primary key, so clients get changes without values.',
        fix: isFixed && keyed.has(table.oid) ? `alter table ${table.quoted} replica identity default;` : null,
        advice: keyed.has(table.oid) ? null : `Add a primary key: alter table ${table.quoted} add primary key (…);`,
        isOfSplinter: false,
      }),
    ]
  })
}

/** Published tables whose log has only the key of deleted rows. */
export function publishedByKey(view: SchemaView): LintFinding[] {
  const keyed = keyedTables(view)
  return publishedTables(view)
    .filter(({ table, identity }) => identity === 'index' || (identity === 'default' && keyed.has(table.oid)))
    .map(({ table }) =>
      finding({
        code: 'realtime_delete_by_key',
        level: 'INFO',
        object: object(table),
        key: `realtime_delete_by_key_${table.schema}_${table.name}`,
        reason: `The log has only the key of deleted rows: filters on other columns match no DELETE${
          table.rls ? ', and every listener gets the key, because policies cannot decide' : ''
        }.`,
        advice: `Where that matters, at the cost of a larger log: alter table ${table.quoted} replica identity full;`,
        isOfSplinter: false,
      }),
    )
}

/** Policies that let everyone receive or send in all private channels. */
export function openChannels(view: SchemaView, expressions: PolicyExpressions): LintFinding[] {
  const messages = view.catalogue.relations.find(({ schema, name }) => schema === 'realtime' && name === 'messages')
  if (!messages) return []
  const isOpen = (text: string | null, tree: string | null): boolean =>
    isAlwaysTrue(text) || (tree !== null && expressions.condition(tree).some((part) => part.length === 0))
  return view.policiesOf(messages).flatMap((policy) => {
    const { command, using, usingTree, check, checkTree } = policy
    const roles = view.apiRoles.filter((role) => view.isFor(role, policy)).map(({ name }) => name)
    const does = [
      ...((command === 'SELECT' || command === 'ALL') && isOpen(using, usingTree) ? ['receive'] : []),
      ...((command === 'INSERT' || command === 'ALL') && isOpen(check ?? using, checkTree ?? usingTree)
        ? ['send']
        : []),
    ]
    if (!policy.isPermissive || roles.length === 0 || does.length === 0) return []
    return [
      finding({
        code: 'realtime_channels_open',
        // Everyone, or everyone who is signed in.
        level: roles.some((name) => name === view.anonymous?.name) ? 'WARN' : 'INFO',
        object: object(messages),
        key: `realtime_channels_open_${policy.name}`,
        reason: `The policy ${policy.name} lets every client of ${roles.join(' and ')} ${does.join(' and ')} in all private channels.`,
        advice: 'Let it decide by realtime.topic() and the caller, or use public channels.',
        metadata: { policy: policy.name },
        isOfSplinter: false,
      }),
    ]
  })
}
