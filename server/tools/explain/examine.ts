// Examines rows of a request with the policies of its relation: which policy allows, hides or denies which row.
import type { CrudPlan } from '../../rest/plan/plan.ts'
import type { Lookup } from '../../catalogue/printed-condition.ts'
import type { DeniedRow, ExplainedRelation } from './explanation.ts'
import { readsRows } from './needs.ts'
import {
  denying,
  describeDenied,
  evaluateLookups,
  explainPolicy,
  testRows,
  type LookupValues,
  type PolicyGroup,
  type TestResults,
} from './policies.ts'
import { appliedPolicies, isProtected, qualifiedName, type PolicyRow, type UsedRelation } from './relations.ts'
import { intendedRows, matchingRows, maxExamined, writtenRows } from './samples.ts'
import type { Stage } from './stage.ts'

export type ExamineOptions = {
  readonly bypass: string | null
  readonly mayEvaluate: (lookup: Lookup) => boolean
  readonly discloses: boolean
}

export type Examined = {
  readonly relations: ReadonlyMap<UsedRelation, ExplainedRelation>
  readonly denied: readonly DeniedRow[]
  readonly values: LookupValues
}

const maxDenied = 10

/** Examines the relations of a request, and the rows of the one that it names. */
export async function examine(
  stage: Stage,
  plan: CrudPlan,
  used: readonly UsedRelation[],
  options: ExamineOptions,
): Promise<Examined> {
  const policies = used.flatMap(({ row, uses }) => appliedPolicies(row, uses))
  const values = await evaluateLookups(stage, policies, options.mayEvaluate)
  const [own] = used
  const rows =
    own && plan.kind !== 'call' && own.row.kind === 'table' && isProtected(own.row)
      ? await examineRows(stage, plan, own, values, options)
      : undefined
  return {
    relations: new Map(used.map((it) => [it, describeRelation(it, values, it === own ? rows : undefined)])),
    denied: rows?.denied ?? [],
    values,
  }
}

type ExaminedRows = {
  /** Results of existing rows; undefined if they are unknown. */
  readonly existing: readonly TestResults[] | undefined
  readonly allowed: number
  readonly denied: readonly DeniedRow[]
}

/** The groups of policies that existing rows must pass. */
function groupsOfExisting(plan: CrudPlan & { kind: 'read' | 'mutate' }): PolicyGroup[] {
  const reading: PolicyGroup = { command: 'select', clause: 'using' }
  if (plan.kind === 'read') return [reading]
  const { mutate } = plan
  if (mutate.kind === 'insert') return []
  return [...(readsRows(mutate) ? [reading] : []), { command: mutate.kind, clause: 'using' }]
}

/** The groups of policies that new rows must pass. */
function groupsOfNew(plan: CrudPlan & { kind: 'read' | 'mutate' }): PolicyGroup[] {
  if (plan.kind === 'read' || plan.mutate.kind === 'delete') return []
  const reading: PolicyGroup = { command: 'select', clause: 'using' }
  return [{ command: plan.mutate.kind, clause: 'with check' }, ...(readsRows(plan.mutate) ? [reading] : [])]
}

async function examineRows(
  stage: Stage,
  plan: CrudPlan & { kind: 'read' | 'mutate' },
  own: UsedRelation,
  values: LookupValues,
  { bypass, discloses }: ExamineOptions,
): Promise<ExaminedRows> {
  const { row: relation, uses } = own
  const policies = appliedPolicies(relation, uses)
  const asBypass = (use: () => Promise<string[]>): Promise<string[] | undefined> =>
    bypass === null ? Promise.resolve(undefined) : stage.attempt(() => stage.asBypass(bypass, use))
  const asCaller = (use: () => Promise<string[]>): Promise<string[] | undefined> =>
    stage.attempt(() => stage.asCaller(use))
  // A filter may fail on a hidden row, and a trigger may read hidden rows: both are left to the caller, if no other
  // role may read about it.
  const match = (): Promise<string[]> => matchingRows(stage, plan)
  const found = groupsOfExisting(plan).length === 0 ? undefined : await (discloses ? asBypass(match) : asCaller(match))
  const existing = found?.slice(0, maxExamined)
  const results = existing && (await testRows(stage, relation, policies, existing))
  const hidden: DeniedRow[] = []
  const refused: DeniedRow[] = []
  const allowed = new Set<string>()
  for (const [index, row] of (existing ?? []).entries()) {
    const described = judge(policies, groupsOfExisting(plan), results?.[index], (groups, tests) =>
      describeDenied(relation, groups, tests, row, values, () => true),
    )
    if (!described) allowed.add(keyText(relation.key, row))
    else {
      const key = keyOf(relation.key, row)
      hidden.push({ relation: qualifiedName(relation), kind: 'existing', row: null, key, policies: described })
    }
  }
  if (plan.kind === 'mutate' && groupsOfNew(plan).length > 0) {
    const { mutate } = plan
    const isInsert = mutate.kind === 'insert'
    const written =
      (discloses ? await asBypass(() => writtenRows(stage, mutate)) : undefined) ??
      (await asCaller(() => intendedRows(stage, mutate, existing ?? []))) ??
      []
    const given = new Set(mutate.kind === 'delete' ? [] : mutate.columns.map(({ name }) => name))
    // Rows that the policies for existing rows hide are not written. Without a key, it is unknown which these are; they
    // are not described then to readers who may not know them.
    const keepsKey = relation.key.length > 0 && !relation.key.some((name) => given.has(name))
    const checked = written.flatMap((row, index) =>
      isInsert || (existing && keepsKey ? allowed.has(keyText(relation.key, row)) : discloses)
        ? [[row, index] as const]
        : [],
    )
    const newResults = await testRows(
      stage,
      relation,
      policies,
      checked.map(([row]) => row),
    )
    for (const [place, [row, index]] of checked.entries()) {
      const described = judge(policies, groupsOfNew(plan), newResults[place], (groups, tests) =>
        describeDenied(relation, groups, tests, row, values, (name) => discloses || given.has(name)),
      )
      if (!described) continue
      const key = isInsert || !discloses ? null : keyOf(relation.key, row)
      const kind = { relation: qualifiedName(relation), kind: 'new' as const, row: isInsert ? index + 1 : null, key }
      refused.push({ ...kind, policies: described })
    }
  }
  if (!discloses) return { existing: undefined, allowed: 0, denied: refused.slice(0, maxDenied) }
  // New rows first: they make the request fail.
  const denied = [...refused, ...hidden].slice(0, maxDenied)
  return { existing: results, allowed: (existing?.length ?? 0) - hidden.length, denied }
}

type Groups = Parameters<typeof describeDenied>[1]

/** The description of a row that is denied; undefined for one that is allowed. */
function judge(
  policies: readonly PolicyRow[],
  groups: readonly PolicyGroup[],
  results: TestResults | undefined,
  describe: (groups: Groups, results: TestResults) => DeniedRow['policies'],
): DeniedRow['policies'] | undefined {
  if (!results) return undefined
  const denied = groups
    .map((group) => [group, denying(policies, group, results)] as const)
    .filter(([, { isDenied }]) => isDenied)
  return denied.length === 0 ? undefined : describe(denied, results)
}

function keyOf(key: readonly string[], row: string): Readonly<Record<string, unknown>> {
  const fields = JSON.parse(row) as Readonly<Record<string, unknown>>
  return Object.fromEntries(key.map((name) => [name, fields[name]]))
}

/** Distinct for each row with a key; the row itself without one. */
const keyText = (key: readonly string[], row: string): string =>
  key.length === 0 ? row : JSON.stringify(keyOf(key, row))

/** @param rows the rows of the relation that were examined, if any */
export function describeRelation(used: UsedRelation, values: LookupValues, rows?: ExaminedRows): ExplainedRelation {
  const { row, uses, through } = used
  const { schema, name, kind, role } = row
  const commands = [...uses.keys()]
  const existing = rows?.existing
  return {
    schema,
    name,
    kind,
    role,
    through,
    commands,
    rowSecurity: isProtected(row) ? 'on' : row.rls && row.bypassesRls ? 'bypassed' : 'off',
    grants: row.grants.filter(({ privilege }) => commands.includes(privilege)),
    policies: appliedPolicies(row, uses).map((policy) => explainPolicy(policy, values, existing)),
    examined: existing
      ? { rows: existing.length, allowed: rows?.allowed ?? 0, isComplete: existing.length < maxExamined }
      : null,
  }
}
