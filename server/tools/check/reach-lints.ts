// Lints on what policies let a caller do together: write rows that it cannot read, and give rows to others.
import { isName, tokensOf } from '../../text/sql-tokens.ts'
import { columnsIn } from '../../catalogue/expression.ts'
import { identifier } from '../../text/sql-text.ts'
import { parseCondition, type Condition as TextCondition } from '../../catalogue/printed-condition.ts'
import type { Column, FunctionRow, PolicyRow, Relation, Role } from '../../catalogue/description.ts'
import { mayUseColumn } from '../../catalogue/rights.ts'
import { finding, type LintFinding } from './finding.ts'
import { nodesOf } from '../../catalogue/node-tree.ts'
import type { PolicyEdit } from './policy-edit.ts'
import type { Condition, Conjunct, PolicyExpressions } from './policy-expression.ts'
import type { SchemaView } from './schema-view.ts'
import { saysSignedIn } from './signed-in.ts'

const object = ({ schema, name }: Relation): LintFinding['object'] => ({ type: 'table', schema, name })

/** Tables with row-level security, with the roles that its policies apply to. */
export const protectedTables = (view: SchemaView): { relation: Relation; roles: Role[] }[] =>
  view.catalogue.relations
    .filter((it) => it.rls && (it.kind === 'r' || it.kind === 'p') && view.isOwnSchema(it.schema) && !it.isOfExtension)
    .map((relation) => ({ relation, roles: view.apiRoles.filter((role) => view.isSubjectTo(role, relation)) }))

type Write = {
  readonly command: 'INSERT' | 'UPDATE' | 'DELETE'
  readonly right: 'insert' | 'update' | 'delete'
  /** Which condition decides, with its text. */
  readonly clause: 'using' | 'check'
}

const writes: readonly Write[] = [
  { command: 'UPDATE', right: 'update', clause: 'using' },
  { command: 'DELETE', right: 'delete', clause: 'using' },
  { command: 'INSERT', right: 'insert', clause: 'check' },
]

const treeOf = ({ usingTree, checkTree }: PolicyRow, clause: Write['clause']): string | null =>
  clause === 'using' ? usingTree : (checkTree ?? usingTree)

/**
 * Policies for writes that allow rows which the policies for reads refuse. Only what the conditions prove: that of the
 * write lacks a part about the caller that the read has, and is otherwise the same.
 */
export function looserWrites(view: SchemaView, expressions: PolicyExpressions): LintFinding[] {
  return protectedTables(view).flatMap(({ relation, roles }) => {
    const found = new Map<string, LintFinding>()
    for (const role of roles) {
      const reading = view.applying(relation, role, 'SELECT')
      if (!view.canUse(role, relation, 'selectColumn')) continue
      for (const write of writes) {
        if (!view.canUse(role, relation, write.right)) continue
        for (const policy of view.applying(relation, role, write.command)) {
          if (!policy.isPermissive) continue
          const missing = missingPart(view, expressions, { relation, role, reading, write, policy })
          if (missing)
            found.set(`${policy.name} ${write.clause}`, describeLooser(view, relation, role, write, policy, missing))
        }
      }
    }
    return [...found.values()]
  })
}

type Compared = {
  readonly relation: Relation
  readonly role: Role
  readonly reading: readonly PolicyRow[]
  readonly write: Write
  readonly policy: PolicyRow
}

/** The policy for reads with the part about the caller that a policy for writes lacks. */
function missingPart(
  view: SchemaView,
  expressions: PolicyExpressions,
  { relation, role, reading, write, policy }: Compared,
): PolicyRow | undefined {
  const limitsOf = (policies: readonly PolicyRow[], clause: Write['clause']): Limit[] =>
    policies
      .filter(({ isPermissive }) => !isPermissive)
      .flatMap((it) =>
        (expressions.condition(treeOf(it, clause))[0] ?? []).map((conjunct) => ({ policy: it, conjunct })),
      )
  const readLimits = limitsOf(reading, 'using')
  const writeLimits = limitsOf(view.applying(relation, role, write.command), write.clause).map(
    ({ conjunct }) => conjunct,
  )
  const reads: Limit[][] = reading
    .filter(({ isPermissive }) => isPermissive)
    .flatMap((it) =>
      expressions
        .condition(it.usingTree)
        .map((part) => [...part.map((conjunct) => ({ policy: it, conjunct })), ...readLimits]),
    )
  const isOfAll = (it: Conjunct): boolean => saysSignedIn(view, expressions, it, role.name)
  const isAnonymous = role.name === view.catalogue.anonymous
  for (const part of expressions.condition(treeOf(policy, write.clause))) {
    // Without any condition, the policy is a finding of rls_policy_always_true.
    if (part.length === 0) continue
    // What every account fulfils is no condition for accounts, and cannot be fulfilled without one.
    if (isAnonymous && part.some(isOfAll)) continue
    const whole = [...part.filter((it) => !isOfAll(it)), ...writeLimits]
    const gaps = reads.map((read) => ({
      read: read.map(({ conjunct }) => conjunct),
      missing: read.filter(({ conjunct }) => !includes(whole, [conjunct]) && (isAnonymous || !isOfAll(conjunct))),
    }))
    if (gaps.some(({ missing }) => missing.length === 0)) continue
    for (const { read, missing } of gaps) {
      const aboutCaller = missing.find(({ conjunct }) => conjunct.dependsOnCaller)
      if (aboutCaller && includes(read, whole)) return aboutCaller.policy
    }
  }
  return undefined
}

/** A part of a condition, with the policy that it is of. */
type Limit = { readonly policy: PolicyRow; readonly conjunct: Conjunct }

/** Whether all `parts` are among `all`, so that `all` implies them. */
const includes = (all: readonly Conjunct[], parts: readonly Conjunct[]): boolean => without(parts, all).length === 0

const without = (parts: readonly Conjunct[], removed: readonly Conjunct[]): Conjunct[] => {
  const texts = new Set(removed.map(({ text }) => text))
  return parts.filter(({ text }) => !texts.has(text))
}

function describeLooser(
  view: SchemaView,
  relation: Relation,
  role: Role,
  write: Write,
  policy: PolicyRow,
  read: PolicyRow,
): LintFinding {
  return finding({
    code: 'write_policy_looser_than_read',
    level: 'WARN',
    object: object(relation),
    key: `write_policy_looser_than_read_${relation.schema}_${relation.name}_${policy.name}_${write.clause}`,
    reason:
      `By the policy ${policy.name}, ${role.name} can ${write.command === 'INSERT' ? 'insert' : write.command.toLowerCase()} ` +
      `rows that the policy ${read.name} does not let it read.`,
    ...(read.isPermissive
      ? { edit: joinPolicies(relation, write, policy, read) }
      : { fix: repeatRestriction(view, relation, write, read) }),
    advice: 'A request without a filter reaches those rows, too.',
    metadata: { policy: policy.name, read_policy: read.name, command: write.command, role: role.name },
    isOfSplinter: false,
  })
}

/** Adds the condition of the read to that of the write. */
const joinPolicies = (relation: Relation, { clause }: Write, policy: PolicyRow, read: PolicyRow): PolicyEdit => ({
  relation,
  policy,
  [clause]: read.using,
})

/** Gives a restrictive policy for reads a counterpart for a write. */
function repeatRestriction(view: SchemaView, relation: Relation, { command, clause }: Write, read: PolicyRow): string {
  // Names of policies have at most 63 bytes.
  const name = identifier(`${[...read.name].slice(0, 30).join('')} for ${command.toLowerCase()}`)
  return (
    `create policy ${name} on ${relation.quoted} as restrictive for ${command.toLowerCase()} to ${view.roleNames(read.roles)}\n` +
    `  ${clause === 'using' ? 'using' : 'with check'} (${read.using});`
  )
}

/**
 * Columns by which a policy decides whose row it is, which its WITH CHECK leaves open: with an UPDATE, a caller can give
 * the row to someone else, or move it to another tenant.
 */
export function writableOwnership(view: SchemaView, expressions: PolicyExpressions): LintFinding[] {
  return protectedTables(view).flatMap(({ relation, roles }) =>
    view.policiesOf(relation).flatMap((policy) => {
      if (!policy.isPermissive || policy.check === null || policy.using === null) return []
      if (policy.command !== 'UPDATE' && policy.command !== 'ALL') return []
      const decisive = columnsAboutCaller(expressions.condition(policy.usingTree))
      const kept = new Set(
        expressions
          .condition(policy.checkTree)
          .map((part) => columnsOf(part.filter((it) => holds(expressions, it))))
          .reduce(common, undefined) ?? [],
      )
      const open = relation.columns.filter(
        ({ number, isGenerated }) => decisive.has(number) && !kept.has(number) && !isGenerated,
      )
      if (open.length === 0) return []
      const found = roles
        .filter(
          (role) => view.applying(relation, role, 'UPDATE').includes(policy) && view.canUse(role, relation, 'update'),
        )
        .map((role) => ({ role, columns: open.filter((column) => canMove(view, expressions, relation, role, column)) }))
        .filter(({ columns }) => columns.length > 0)
      const [first] = found
      return first
        ? [
            describeOwnership(
              relation,
              policy,
              first.columns,
              partsAbout(expressions, policy, first.columns),
              found.map(({ role }) => role.name),
            ),
          ]
        : []
    }),
  )
}

/** Columns in parts of the condition that depend on the caller, if all alternatives have such a part. */
function columnsAboutCaller(condition: Condition): Set<number> {
  return new Set(
    condition.flatMap((part) =>
      part.filter(({ dependsOnCaller }) => dependsOnCaller).flatMap(({ columns }) => [...columns]),
    ),
  )
}

/** Whether a conjunct keeps its columns to certain values, as `owner is not null` does not. */
const holds = (expressions: PolicyExpressions, conjunct: Conjunct): boolean =>
  conjunct.dependsOnCaller ||
  expressions.comparedColumns(conjunct).length > 0 ||
  [...nodesOf(conjunct.node)].some(({ tag }) => tag === 'SUBLINK')

const columnsOf = (part: readonly Conjunct[]): number[] => part.flatMap(({ columns }) => [...columns])

const common = (before: readonly number[] | undefined, columns: readonly number[]): readonly number[] =>
  before === undefined ? columns : before.filter((column) => columns.includes(column))

function canMove(
  view: SchemaView,
  expressions: PolicyExpressions,
  relation: Relation,
  role: Role,
  column: Column,
): boolean {
  if (!mayUseColumn(role, relation, 'update', column.number)) return false
  const isRestricted = view
    .applying(relation, role, 'UPDATE')
    .some(
      (it) =>
        !it.isPermissive &&
        expressions.condition(it.checkTree ?? it.usingTree).every((part) => columnsOf(part).includes(column.number)),
    )
  return !isRestricted && !guardsOf(view, relation).some((routine) => names(routine, column))
}

/** Functions of triggers that see a row before it is updated, and can refuse. */
const guardsOf = (view: SchemaView, { oid }: Relation): FunctionRow[] =>
  view.catalogue.triggers
    .filter(({ relation, isBefore, isOnUpdate }) => relation === oid && isBefore && isOnUpdate)
    .flatMap((it) => view.function(it.function) ?? [])

const names = ({ source }: FunctionRow, { name }: Column): boolean =>
  tokensOf(source).some((token) => isName(token) && token.text === name)

/**
 * The parts of USING that decide by the columns and the caller: the others, such as the state of the row before, need not
 * be true afterwards. All of USING if the text and the tree cannot be matched.
 */
function partsAbout(expressions: PolicyExpressions, policy: PolicyRow, columns: readonly Column[]): string | null {
  const { using, usingTree } = policy
  if (using === null || usingTree === null) return using
  const text = parseCondition(using)
  const parts = expressions.conjunctions(usingTree)
  if (text.kind !== 'and' || text.parts.length !== parts.length) return using
  const kept = text.parts.filter((_, index) => {
    const tree = parts[index] ?? null
    return expressions.dependsOnCaller(tree) && columns.some(({ number }) => columnsIn(tree).has(number))
  })
  return kept.length === 0 ? using : kept.map(textOf).join(' and ')
}

const textOf = (condition: TextCondition): string =>
  `(${condition.kind === 'test' ? condition.text : condition.parts.map(textOf).join(` ${condition.kind} `)})`

function describeOwnership(
  relation: Relation,
  policy: PolicyRow,
  columns: readonly Column[],
  check: string | null,
  roles: readonly string[],
): LintFinding {
  const list = columns.map(({ name }) => name)
  return finding({
    code: 'policy_column_writable',
    level: 'WARN',
    object: object(relation),
    key: `policy_column_writable_${relation.schema}_${relation.name}_${policy.name}`,
    reason:
      `The policy ${policy.name} decides by ${list.join(', ')} whose row it is, but its WITH CHECK leaves ` +
      `${list.length === 1 ? 'this column' : 'these columns'} open, so ${roles.join(' and ')} can give a row to someone else.`,
    edit: { relation, policy, check },
    advice: 'Or revoke UPDATE on these columns.',
    metadata: { policy: policy.name, columns: list, roles },
    isOfSplinter: false,
  })
}
