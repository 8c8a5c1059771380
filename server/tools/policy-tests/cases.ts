// What a run executes: the written tests and the cells of the matrices.
import type { Identity } from '../../identity/identity.ts'
import { CredentialError } from '../../identity/credential-error.ts'
import { identityOf, UnknownCaller, type RunOwnerQuery } from './callers.ts'
import { runTest, type Problem } from './expectation.ts'
import { compareCell, probe } from './matrix.ts'
import type { ProbedRelation } from './relations.ts'
import type { TestSession } from './session.ts'
import type { CallerFields, CallerName, MatrixCell, Place, PolicyTest, TestFile } from './test-file.ts'

export type Case = Place & {
  readonly name: string
  /** Table and command of a cell, or the path and the SQL of a test: which mutants it may notice first. */
  readonly table: string | undefined
  readonly command: string | undefined
  readonly mentions: string
  /** Role of the caller; undefined if it is not known before the test, whose SQL may create it. */
  readonly role: string | undefined
  /** Runs the case in a transaction that is rolled back. Null: it passed. */
  readonly run: (session: TestSession) => Promise<Problem | null>
}

export type CaseOptions = {
  /** Mount path of the REST API. */
  readonly basePath: string
  readonly relations: readonly ProbedRelation[]
  /** Runs statements on a database of the run. */
  readonly query: RunOwnerQuery
}

/** All cases of the files, in their order. */
export async function casesOf(files: readonly TestFile[], options: CaseOptions): Promise<readonly Case[]> {
  const cases: Case[] = []
  for (const file of files) {
    const resolve = resolver(file.callers, options.query)
    for (const test of file.tests) cases.push(await caseOfTest(test, file.callers, resolve, options.basePath))
    for (const cell of file.matrix) cases.push(await caseOfCell(cell, resolve, options.relations))
  }
  return cases
}

type Resolved = { readonly identity: Identity } | { readonly problem: Problem }

/** Looks up each caller of a file once. */
function resolver(named: TestFile['callers'], query: RunOwnerQuery): (as: CallerName) => Promise<Resolved> {
  const known = new Map<string, Promise<Resolved>>()
  return (as) => {
    const key = JSON.stringify(as)
    const found = known.get(key) ?? resolveCaller(as, named, query)
    known.set(key, found)
    return found
  }
}

async function resolveCaller(
  as: CallerName,
  named: Readonly<Record<string, CallerFields>>,
  query: RunOwnerQuery,
): Promise<Resolved> {
  try {
    return { identity: await identityOf(as, named, query) }
  } catch (error) {
    if (!(error instanceof UnknownCaller || error instanceof CredentialError)) throw error
    return { problem: { message: error.message } }
  }
}

async function caseOfTest(
  test: PolicyTest,
  named: TestFile['callers'],
  resolve: (as: CallerName) => Promise<Resolved>,
  basePath: string,
): Promise<Case> {
  const { file, line, name, method, target, given } = test
  const resolved = await resolve(test.as)
  const run = async (session: TestSession): Promise<Problem | null> => {
    if (given === undefined) {
      if ('problem' in resolved) return resolved.problem
      return runTest(session, test, () => Promise.resolve(resolved.identity), basePath)
    }
    // The SQL of the test may create the caller.
    try {
      return await runTest(session, test, () => identityOf(test.as, named, session.query), basePath)
    } catch (error) {
      if (!(error instanceof UnknownCaller || error instanceof CredentialError)) throw error
      return { message: error.message }
    }
  }
  const role = 'identity' in resolved && given === undefined ? resolved.identity.role : undefined
  const mentions = `${target} ${given ?? ''}`
  return { file, line, name, table: undefined, command: commands[method], mentions, role, run }
}

const commands: Readonly<Record<string, string>> = {
  GET: 'select',
  HEAD: 'select',
  POST: 'insert',
  PUT: 'insert',
  PATCH: 'update',
  DELETE: 'delete',
}

async function caseOfCell(
  { file, line, table, command, as, expected }: MatrixCell,
  resolve: (as: CallerName) => Promise<Resolved>,
  relations: readonly ProbedRelation[],
): Promise<Case> {
  const resolved = await resolve(as)
  const relation = relations.find((it) => it.table === table) ?? relations.find(({ name }) => name === table)
  const run = async (session: TestSession): Promise<Problem | null> => {
    if ('problem' in resolved) return resolved.problem
    if (!relation) return { message: `there is no table or view ${table} in the exposed schemas` }
    return compareCell(expected, await probe(session, relation, command, resolved.identity))
  }
  return {
    file,
    line,
    name: `${as}: ${command} ${table}`,
    table: relation?.table,
    command: command === 'move' ? 'update' : command.replace(' all', ''),
    mentions: '',
    role: 'identity' in resolved ? resolved.identity.role : undefined,
    run,
  }
}
