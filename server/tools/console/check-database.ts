// The findings of `rowhouse check`, trials of what mends them, and the list of what is exposed, for the console.
import type { RunClientQuery } from '../../catalogue/introspection.ts'
import { isInternalRole } from '../../identity/internal-role.ts'
import type { CheckFinding, CheckReport, FixRequest, MatrixRelation } from '../../services/console/policy-protocol.ts'
import { describeFinding } from '../check/exposure-findings.ts'
import type { ExposedRelation } from '../check/exposure.ts'
import { objectName, type LintFinding } from '../check/finding.ts'
import { applyIgnoreList, readIgnoreList, type Sorted } from '../check/ignore-list.ts'
import { tryFixes, type FixTrial } from '../check/fix-trial.ts'
import { factsOf } from '../check/lint-facts.ts'
import { requestRoles, runCheck, type CheckResult, type CheckSettings } from '../check/run-check.ts'
import { describeUnseen } from '../check/unseen.ts'

type Sought = { readonly result: CheckResult; readonly sorted: Sorted }

/** All that `rowhouse check` finds. */
async function seek(query: RunClientQuery, settings: CheckSettings): Promise<Sought> {
  const list = await readIgnoreList(undefined)
  const result = await runCheck(query, settings, { measure: true })
  return { result, sorted: applyIgnoreList(result.findings, list) }
}

/** @param query runs statements on one connection of the login role */
export async function checkDatabase(query: RunClientQuery, settings: CheckSettings): Promise<CheckReport> {
  const { result, sorted } = await seek(query, settings)
  const texts = await readPolicyTexts(query, settings.dbSchemas)
  return {
    findings: sorted.reported.map(shown),
    ignored: sorted.ignored.length,
    unseen: result.unseen.map(describeUnseen),
    relations: result.exposed.flatMap((it) =>
      it.kind === 'function' ? [] : [matrixRelation(it, it.findings.map(describeFinding), texts)],
    ),
  }
}

/**
 * Tries the fixes of findings. Nothing remains of that.
 *
 * @param query runs statements on one connection of the login role
 * @param withOwner lends a connection of the role that applies migrations
 */
export async function tryFixesOf(
  query: RunClientQuery,
  settings: CheckSettings,
  { keys, yes = false }: FixRequest,
  withOwner: <T>(use: (query: RunClientQuery) => Promise<T>) => Promise<T>,
): Promise<FixTrial> {
  const { result, sorted } = await seek(query, settings)
  const chosen = sorted.reported.filter(({ key }) => keys === undefined || keys.includes(key))
  return withOwner((owner) => tryFixes(owner, chosen, { mayChangeRights: yes, roles: requestRoles(result) }))
}

const shown = ({ code, level, object, key, reason, fix, advice }: LintFinding): CheckFinding => ({
  code,
  level,
  type: object.type,
  object: objectName(object),
  key,
  ...factsOf(code),
  reason,
  fix,
  advice,
})

type PolicyTexts = ReadonlyMap<string, { readonly using: string | null; readonly check: string | null }>

const textKey = (schema: unknown, relation: unknown, policy: unknown): string =>
  JSON.stringify([schema, relation, policy])

async function readPolicyTexts(query: RunClientQuery, schemas: readonly string[]): Promise<PolicyTexts> {
  const { rows } = await query(
    'select schemaname, tablename, policyname, qual, with_check from pg_catalog.pg_policies where schemaname = any ($1)',
    [[...schemas]],
  )
  return new Map(
    rows.map(({ schemaname, tablename, policyname, qual, with_check: check }) => [
      textKey(schemaname, tablename, policyname),
      { using: qual as string | null, check: check as string | null },
    ]),
  )
}

const matrixRelation = (
  { kind, schema, name, owner, rls, securityInvoker, roles, policies }: ExposedRelation,
  risks: readonly string[],
  texts: PolicyTexts,
): MatrixRelation => ({
  kind,
  schema,
  name,
  owner,
  rls,
  securityInvoker,
  roles: roles.filter((role) => !isInternalRole(role.name)),
  policies: policies.map((policy) => ({
    name: policy.name,
    command: policy.command,
    permissive: policy.permissive,
    roles: policy.roles,
    ...(texts.get(textKey(schema, name, policy.name)) ?? { using: null, check: null }),
  })),
  risks,
})
