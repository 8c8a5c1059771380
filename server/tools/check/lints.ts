// All lints of `rowhouse check`.
import type { CheckCatalogue } from './catalogue.ts'
import {
  callsPerRow,
  tablesCallingVolatile,
  unindexedPolicyColumns,
  volatileCalls,
  type UnindexedColumn,
} from './cost-lints.ts'
import * as exposure from './exposure-lints.ts'
import type { LintFinding } from './finding.ts'
import { FunctionNeeds } from './function-needs.ts'
import { policyFunctionsNotExecutable } from './policy-function-lint.ts'
import * as leaks from './leak-lints.ts'
import { unprovenAddresses } from './address-lint.ts'
import { userMetadata } from './metadata-lint.ts'
import { PolicyExpressions } from './policy-expression.ts'
import { listableBuckets } from './bucket-lint.ts'
import * as policies from './policy-lints.ts'
import * as realtime from './realtime-lints.ts'
import { looserWrites, writableOwnership } from './reach-lints.ts'
import * as schema from './schema-lints.ts'
import { SchemaView } from './schema-view.ts'
import { credentialsInUrls, rowsWithoutTls } from './webhook-lints.ts'

type Lint = (view: SchemaView, expressions: PolicyExpressions, needs: FunctionNeeds) => LintFinding[]

/** In the order of splinter's numbers, then those that it does not have. */
const lints: readonly Lint[] = [
  schema.unindexedForeignKeys,
  exposure.exposedUsers,
  policies.callerReadPerRow,
  schema.noPrimaryKey,
  schema.unusedIndexes,
  policies.multiplePermissivePolicies,
  policies.policiesWithoutRls,
  policies.rlsWithoutPolicies,
  schema.duplicateIndexes,
  exposure.definerViews,
  exposure.mutableSearchPath,
  exposure.rlsDisabled,
  schema.extensionsInPublic,
  userMetadata,
  exposure.materializedViews,
  exposure.foreignTables,
  schema.unsupportedRegTypes,
  exposure.insecureQueues,
  schema.tableBloat,
  schema.foreignKeysToAuth,
  schema.outdatedExtensions,
  exposure.sensitiveColumns,
  policies.alwaysTruePolicies,
  listableBuckets,
  exposure.graphqlAnonymous,
  exposure.graphqlSignedIn,
  exposure.definerForAnonymous,
  exposure.definerForSignedIn,
  policyFunctionsNotExecutable,
  looserWrites,
  writableOwnership,
  unprovenAddresses,
  volatileCalls,
  callsPerRow,
  leaks.nestedViews,
  leaks.leakyFilters,
  leaks.copyingTriggers,
  leaks.definersReadingClaims,
  leaks.openDefaults,
  realtime.publishedWithoutRls,
  realtime.publishedWithoutKey,
  realtime.publishedByKey,
  realtime.openChannels,
  rowsWithoutTls,
  credentialsInUrls,
]

export type LintResult = {
  readonly findings: readonly LintFinding[]
  /** Findings of the lint policy_column_without_index, whose cost can be measured. */
  readonly unindexed: readonly UnindexedColumn[]
  /** Tables whose policies call volatile functions, which may have effects. */
  readonly volatile: ReadonlySet<number>
}

/** Runs all lints. A pure function. */
export function runLints(catalogue: CheckCatalogue): LintResult {
  const view = new SchemaView(catalogue)
  const expressions = new PolicyExpressions(view)
  const needs = new FunctionNeeds(view)
  return {
    findings: lints.flatMap((lint) => lint(view, expressions, needs)),
    unindexed: unindexedPolicyColumns(view, expressions),
    volatile: tablesCallingVolatile(view, expressions),
  }
}
