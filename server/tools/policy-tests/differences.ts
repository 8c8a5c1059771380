// Compares the results of policy tests without and with further statements, such as those that `rowhouse check` proposes.
import type { Case } from './cases.ts'
import type { Laboratory } from './laboratory.ts'
import { inParallel } from './mutation.ts'
import type { TestSession } from './session.ts'

export type DifferentTest = {
  readonly name: string
  /** Why it fails without the statements, and with them; null if it passes. */
  readonly before: string | null
  readonly after: string | null
}

/**
 * Runs each test twice, in transactions that are rolled back.
 *
 * @throws the error of a statement: the migrations make another database
 */
export async function differentTests(
  { sessions }: Laboratory,
  cases: readonly Case[],
  statements: readonly string[],
): Promise<DifferentTest[]> {
  const found: DifferentTest[] = []
  await inParallel(
    sessions,
    cases,
    async (session, test) => ({
      before: await session.isolated(() => resultOf(session, test)),
      after: await session.isolated(async () => {
        for (const statement of statements) await session.client.query(statement)
        return resultOf(session, test)
      }),
    }),
    ({ before, after }, { name }) => {
      if (before.exact !== after.exact) found.push({ name, before: before.text, after: after.text })
    },
  )
  return found
}

async function resultOf(
  session: TestSession,
  test: Case,
): Promise<{ readonly text: string | null; readonly exact: string }> {
  const problem = await test.run(session)
  return { text: problem?.message ?? null, exact: JSON.stringify(problem) }
}
