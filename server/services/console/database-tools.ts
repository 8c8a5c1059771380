// What the pages of SQL and policies need of the command line. Their errors are failures whose message is for people.
import type { Identity } from '../../identity/identity.ts'
import type {
  AcceptedMutant,
  CheckReport,
  ExplainRequest,
  FixReport,
  FixRequest,
  NewPolicyTest,
  PolicyTestRun,
  PolicyTests,
  RunRequest,
  ShownExplanation,
} from './policy-protocol.ts'
import type { NewMigration, SqlRequest, SqlRun } from './sql-protocol.ts'

/** As whom statements run: with role and claims, or as the role that owns the schemas. */
export type SqlIdentity = Identity | 'owner'

/** @param transaction id of the transaction that is about to be committed; null if it has changed nothing */
export type BeforeCommit = (transaction: string | null) => Promise<void>

export type DatabaseTools = {
  /**
   * @param signal aborted when the client is gone
   * @param beforeCommit called when only the commit is left; where it fails, nothing is committed
   */
  readonly runSql: (
    request: SqlRequest,
    identity: SqlIdentity,
    signal: AbortSignal,
    beforeCommit: BeforeCommit,
  ) => Promise<SqlRun>
  /** @param signal aborted when the client is gone */
  readonly explain: (request: ExplainRequest, identity: Identity, signal: AbortSignal) => Promise<ShownExplanation>
  /** JSON of a `CheckReport`, which can have megabytes. */
  readonly check: () => Promise<string>
  readonly findings: () => Promise<Pick<CheckReport, 'findings' | 'ignored' | 'unseen'>>
  /** Tries the fixes of findings, and writes them as a migration. */
  readonly writeFixes: (request: FixRequest) => Promise<FixReport>
  /** @returns the path of the new file */
  readonly writeMigration: (migration: NewMigration) => Promise<string>
  readonly policyTests: () => Promise<PolicyTests>
  /** Adds a test to the files of the project. Returns the path of the file. */
  readonly addPolicyTest: (test: NewPolicyTest) => Promise<string>
  /** Adds a mutant that no test needs to notice. Returns the path of the file. */
  readonly acceptMutant: (accepted: AcceptedMutant) => Promise<string>
  /**
   * Starts a run of the policy tests, which goes on as long as it is asked for.
   *
   * @throws Failure 409 while another one runs
   */
  readonly startRun: (request: RunRequest) => Promise<PolicyTestRun>
  /** The current run, or the last one. */
  readonly currentRun: () => PolicyTestRun | null
  readonly cancelRun: () => void
}
