// Explains the transaction of a request: runs it as the engine wrote it, undoes it, and examines what decided its result.
import type { QualifiedIdentifier } from '../../catalogue/identifier.ts'
import type { Identity } from '../../identity/identity.ts'
import type { RestTransaction } from '../../rest/database.ts'
import type { RawRow } from '../../rest/row-transfer.ts'
import type { Prepared } from '../../rest/extension.ts'
import type { CrudPlan } from '../../rest/plan/plan.ts'
import { readResult } from '../../rest/response/result-row.ts'
import { readPart } from '../../catalogue/description.ts'
import { decodeRow, introspectionQuery } from '../../catalogue/introspection.ts'
import type { ScratchTransaction } from '../../postgres/scratch-transaction.ts'
import { effectsOf, type Effects, type EffectsCatalogue } from './effects.ts'
import { describeRelation, examine, type Examined } from './examine.ts'
import type { Explanation } from './explanation.ts'
import type { Lookup } from '../../catalogue/printed-condition.ts'
import { measurePolicies, readPlan, withoutHiddenRows } from './measure.ts'
import { needsOf, type Need } from './needs.ts'
import { isProtected, missingPrivileges, readRelations, type MissingPrivilege, type UsedRelation } from './relations.ts'
import { countMatching, dependsOnContents } from './samples.ts'
import { Stage } from './stage.ts'
import { tokensOf } from '../../text/sql-tokens.ts'

export type ExplainOptions = {
  /** Functions whose effects are accepted, by name. */
  readonly trusted: readonly string[]
  /** Whether the reader may see rows that are hidden from the caller, and values that policies look up. */
  readonly discloses: boolean
  /** Whether it is only run and undone: nothing is said about policies, plan and cost. */
  readonly onlyRuns?: boolean
}

export type ExplainedTransaction = Pick<
  Explanation,
  'effects' | 'statements' | 'relations' | 'rows' | 'denied' | 'plan' | 'cost' | 'notes'
>

export type Outcome =
  | { readonly kind: 'succeeded'; readonly rows: readonly (readonly RawRow[])[] }
  | { readonly kind: 'failed'; readonly error: unknown }
  /** It was not run, because its effects could remain. */
  | { readonly kind: 'refused' }

export type ExplainedRun = { readonly outcome: Outcome; readonly explanation: ExplainedTransaction }

type Context = {
  readonly stage: Stage
  readonly transaction: RestTransaction
  /** The plan, if it reads or writes rows. */
  readonly plan: CrudPlan | undefined
  readonly used: readonly UsedRelation[]
  readonly bypass: string | null
  readonly options: ExplainOptions
}

/**
 * Runs a transaction, explains it, and undoes it.
 *
 * @throws the error of the connection, and if the caller has disconnected
 */
export async function explainTransaction(
  scratch: ScratchTransaction,
  transaction: RestTransaction,
  { plan: planned, nested }: Pick<Prepared, 'plan' | 'nested'>,
  { role }: Identity,
  options: ExplainOptions,
): Promise<ExplainedRun> {
  const stage = new Stage(scratch, transaction)
  const plan = planned.kind === 'read' || planned.kind === 'mutate' || planned.kind === 'call' ? planned : undefined
  const needs = plan ? needsOf(plan) : []
  const { used, bypass, effects } = await stage.asLogin(async () => {
    const found = await readRelations((text, values) => stage.query(text, values), needs, role)
    return {
      used: found,
      bypass: await bypassingRole(stage, needs),
      effects: await readEffects(stage, transaction, {
        reads: found.map(({ row }) => row),
        writes: [...(plan?.kind === 'mutate' ? [plan.mutate.into] : []), ...(nested?.writes ?? [])],
        trusted: options.trusted,
      }),
    }
  })
  const context: Context = { stage, transaction, plan, used, bypass, options }
  if (effects.refused.length > 0) {
    return { outcome: { kind: 'refused' }, explanation: await describe(context, { kind: 'refused' }, effects) }
  }
  const tooExpensive = await checkCost(stage, transaction)
  if (tooExpensive) {
    const statements = statementsOf(transaction)
    return { outcome: { kind: 'failed', error: tooExpensive }, explanation: { ...notExplained, effects, statements } }
  }
  const outcome = await run(stage, transaction)
  if (options.onlyRuns === true) return { outcome, explanation: { ...notExplained, effects } }
  return { outcome, explanation: await describe(context, outcome, effects) }
}

/** The error of a request that costs more than its caller may spend. One whose cost is unknown, such as without privileges, fails. */
async function checkCost(stage: Stage, { precheck }: RestTransaction): Promise<Error | undefined> {
  if (!precheck) return undefined
  const results = await stage.attempt(() =>
    stage.asCaller(async () => {
      const rows: (readonly RawRow[])[] = []
      for (const statement of precheck.statements) rows.push(await stage.run(statement))
      return rows
    }),
  )
  return results && precheck.check(results)
}

/** Runs the statements of the request, with the checks of a commit. */
async function run(stage: Stage, { statements, checkResult, readOnly }: RestTransaction): Promise<Outcome> {
  try {
    const rows = await stage.asCaller(async () => {
      const results: (readonly RawRow[])[] = []
      for (const statement of statements) results.push(await stage.run(statement))
      const refusal = checkResult?.(results)
      if (refusal) throw refusal
      if (!readOnly) await stage.query('set constraints all immediate')
      return results
    })
    return { kind: 'succeeded', rows }
  } catch (error) {
    return { kind: 'failed', error }
  }
}

/** A role that bypasses row-level security, may read the relations, and that the login role can switch to. */
async function bypassingRole(stage: Stage, needs: readonly Need[]): Promise<string | null> {
  const relations = needs.map(({ relation: { schema, name } }) => ({ schema, name }))
  const rows = await stage.query(
    `select r.rolname as role from pg_roles r
     where (r.rolbypassrls or r.rolsuper) and pg_has_role(session_user, r.oid, 'member')
       and not exists (
         select from json_array_elements($1::json) as given
         join pg_namespace n on n.nspname = given ->> 'schema'
         join pg_class c on c.relnamespace = n.oid and c.relname = given ->> 'name'
         where not has_table_privilege(r.oid, c.oid, 'select') or not has_schema_privilege(r.oid, n.oid, 'usage')
       )
     order by r.rolname = 'service_role' desc, r.rolsuper, r.rolname limit 1`,
    [JSON.stringify(relations)],
  )
  return (rows[0]?.role as string | undefined) ?? null
}

async function readEffects(
  stage: Stage,
  { statements, before }: RestTransaction,
  { reads, writes, trusted }: EffectsOptions,
): Promise<Effects> {
  const [row] = await stage.query(introspectionQuery('explained-effects').text)
  const dependencies = await readPart((text, values) => stage.query(text, values), 'dependencies')
  const catalogue = { ...decodeRow<Omit<EffectsCatalogue, 'dependencies'>>(row ?? {}), dependencies }
  return effectsOf(catalogue, {
    statements: [...before, ...statements].map((it) => it.text),
    reads: reads.map(keyOf),
    writes: [...new Set(writes.map(keyOf))],
    trusted,
  })
}

type EffectsOptions = Pick<ExplainOptions, 'trusted'> & {
  readonly reads: readonly QualifiedIdentifier[]
  readonly writes: readonly QualifiedIdentifier[]
}

const keyOf = ({ schema, name }: QualifiedIdentifier): string => `${schema}.${name}`

/** The parts of an explanation that say nothing. */
export const notExplained: ExplainedTransaction = {
  effects: { refused: [], remaining: [] },
  statements: [],
  relations: [],
  rows: { before: null, after: null },
  denied: null,
  plan: null,
  cost: null,
  notes: [],
}

const nothingExamined: Examined = { relations: new Map(), denied: [], values: new Map() }

async function describe(context: Context, outcome: Outcome, effects: Effects): Promise<ExplainedTransaction> {
  const { stage, transaction, plan, used, bypass, options } = context
  const missing = used.flatMap(missingPrivileges)
  const isRun = outcome.kind !== 'refused'
  const examined =
    // Filters on columns that the caller may not read would tell what is in these.
    isRun && plan && (options.discloses || missing.length === 0)
      ? await examine(stage, plan, used, { bypass, mayEvaluate: mayEvaluate(options), discloses: options.discloses })
      : nothingExamined
  const [main] = transaction.statements
  // Others could find out, such as by filters, what is in the rows that they do not see.
  const knowsHidden = options.discloses || (plan !== undefined && !dependsOnContents(plan) && missing.length === 0)
  const measured =
    outcome.kind === 'succeeded' && main && plan && !plan.explain
      ? await stage.attempt(() => readPlan(stage, main))
      : undefined
  const cost =
    knowsHidden && measured && main && bypass !== null && used.some(({ row }) => isProtected(row))
      ? await measurePolicies(stage, main, bypass, measured)
      : undefined
  const rows = await countRows(context, outcome, knowsHidden)
  const hides = rows.before !== null && rows.after !== null && rows.after < rows.before
  const isDenied = outcome.kind === 'failed' ? missing.length > 0 || examined.denied.length > 0 : hides
  return {
    effects,
    statements: statementsOf(transaction),
    relations: used.map((it) => examined.relations.get(it) ?? describeRelation(it, new Map())),
    rows,
    denied: isDenied ? denial(missing, examined) : null,
    plan: (knowsHidden ? measured : withoutHiddenRows(measured)) ?? null,
    cost: cost ?? null,
    notes: notesOf(context, outcome, knowsHidden && cost === undefined),
  }
}

const statementsOf = ({ statements }: RestTransaction): Explanation['statements'] =>
  statements.map(({ text, values }) => ({
    sql: text,
    values: values.map((value) => (Buffer.isBuffer(value) ? `\\x${value.toString('hex')}` : value)),
  }))

const denial = (privileges: readonly MissingPrivilege[], { denied }: Examined): Explanation['denied'] => ({
  reason: privileges.length > 0 ? 'privileges' : 'policies',
  privileges,
  rows: denied,
})

async function countRows(
  { stage, plan, bypass }: Context,
  outcome: Outcome,
  knowsHidden: boolean,
): Promise<Explanation['rows']> {
  if (!plan || outcome.kind === 'refused') return { before: null, after: null }
  const count = (): Promise<number | undefined> => countMatching(stage, plan)
  const before =
    plan.kind === 'mutate' && plan.mutate.kind === 'insert'
      ? rowsOfBody(plan.mutate.body)
      : bypass === null || !knowsHidden
        ? undefined
        : await stage.attempt(() => stage.asBypass(bypass, count))
  if (outcome.kind === 'failed') return { before: before ?? null, after: null }
  const after =
    plan.kind === 'read'
      ? await stage.attempt(() => stage.asCaller(count))
      : readResult(plan.kind, outcome.rows[0] ?? []).queryTotal
  return { before: before ?? null, after: after ?? null }
}

function rowsOfBody(body: string | null): number | undefined {
  const value: unknown = body === null ? undefined : JSON.parse(body)
  return Array.isArray(value) ? value.length : value === undefined ? undefined : 1
}

/** Functions of other schemas may return rows that the caller cannot see, such as those with security definer. */
const mayEvaluate =
  ({ discloses }: ExplainOptions) =>
  ({ text }: Lookup): boolean => {
    if (discloses) return true
    const tokens = tokensOf(text)
    return tokens.every(
      ({ kind, text: schema }, index) =>
        tokens[index + 1]?.text !== '.' || ((kind === 'word' || kind === 'quoted') && schema === 'auth'),
    )
  }

function notesOf({ plan, used, bypass, transaction }: Context, outcome: Outcome, lacksCost: boolean): string[] {
  const notes: string[] = []
  if (bypass === null && used.some(({ row }) => isProtected(row))) {
    notes.push(
      'Rows before the policies and their cost are unknown: the login role can switch to no role that bypasses row-level security and may read these relations, such as service_role.',
    )
  }
  if (plan?.kind === 'call') {
    notes.push(
      'The policies of tables that the function uses are not listed: PostgreSQL does not say what a function reads.',
    )
  }
  if (plan?.kind === 'mutate' && plan.mutate.kind === 'insert' && plan.mutate.onConflict !== null) {
    notes.push('Rows of the body that conflict with existing ones are also checked by the policies for updates.')
  }
  if (outcome.kind === 'succeeded' && !transaction.readOnly) notes.push('The transaction was rolled back.')
  if (lacksCost && outcome.kind === 'succeeded' && plan && bypass !== null && used.some((it) => isProtected(it.row))) {
    notes.push(`The cost of the policies is unknown: ${bypass} cannot run the statement.`)
  }
  return notes
}
