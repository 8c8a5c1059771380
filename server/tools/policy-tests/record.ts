// Records the matrix: every role and account, every table, every command.
import { readFile, writeFile } from 'node:fs/promises'
import { diffLines } from 'diff'
import { Document, isCollection, isMap, parseDocument, visit } from 'yaml'
import { identityOf, type RunOwnerQuery } from './callers.ts'
import { counted, probe } from './matrix.ts'
import { inParallel } from './mutation.ts'
import type { ProbedRelation } from './relations.ts'
import type { Laboratory } from './laboratory.ts'
import type { CallerFields, Cell, MatrixCommand } from './test-file.ts'

/** By table, command and caller. */
export type Matrix = Record<string, Partial<Record<MatrixCommand, Record<string, Cell>>>>

/** Accounts that are recorded. */
const maxAccounts = 20

/**
 * The callers of a matrix in a stable order: the roles of the API, accounts by their addresses, and the named ones.
 *
 * @param named callers of the file
 */
export async function recordedCallers(
  { roles }: Pick<Laboratory, 'roles'>,
  named: Readonly<Record<string, CallerFields>>,
  query: RunOwnerQuery,
): Promise<readonly string[]> {
  const [has] = await query("select to_regclass('auth.users') is not null as accounts", [])
  const accounts =
    has?.accounts === true
      ? await query(
          `select email::text as email from auth.users where email is not null order by email::text collate "C" limit ${maxAccounts}`,
          [],
        )
      : []
  return [...new Set([...roles.api, ...accounts.map(({ email }) => String(email)), ...Object.keys(named)])]
}

/** Tries everything. Tables whose keys differ between two set-ups of the database are counted. */
export async function recordMatrix(
  laboratory: Laboratory,
  callers: readonly string[],
  named: Readonly<Record<string, CallerFields>>,
): Promise<Matrix> {
  const { sessions, ownRelations: relations, roles, readAgain } = laboratory
  const again = new Map((await readAgain()).map((relation) => [relation.table, keysOf(relation)]))
  const random = new Set(relations.filter((it) => again.get(it.table) !== keysOf(it)).map(({ table }) => table))
  const wanted = relations.flatMap((relation) =>
    relation.commands.flatMap((command) => callers.map((caller) => ({ relation, command, caller }))),
  )
  const matrix: Matrix = {}
  await inParallel(
    sessions,
    wanted,
    async (session, { relation, command, caller }) => {
      const identity = await identityOf(caller, named, session.query)
      // Policies, which say where rows may move to, do not apply.
      if (command === 'move' && roles.byName.get(identity.role)?.bypassesRls) return undefined
      return probe(session, relation, command, identity)
    },
    (cell, { relation: { table }, command, caller }) => {
      if (cell === undefined) return
      const commands = (matrix[table] ??= {})
      const cells = (commands[command] ??= {})
      cells[caller] = random.has(table) ? counted(cell) : readable(cell)
    },
  )
  return matrix
}

const keysOf = ({ rows }: ProbedRelation): string => JSON.stringify(rows.map(({ key }) => key))

/** Writes keys of digits as numbers. */
function readable(cell: Cell): Cell {
  const number = (key: string | number): string | number =>
    typeof key === 'string' && /^(?:0|[1-9]\d{0,14})$/.test(key) ? Number(key) : key
  if (Array.isArray(cell)) return (cell as readonly (string | number)[]).map(number)
  if (typeof cell !== 'object') return cell
  return Object.fromEntries(
    Object.entries(cell).map(([name, keys]) => [name, Array.isArray(keys) ? keys.map(number) : (keys as number)]),
  )
}

const head = ` Who can do what with which rows, recorded by \`rowhouse test --record\`. Review it: what it says is what the tests expect.
 Per table, command and caller: the keys of the rows that the caller can read, insert (as they are), update, delete, or move
 (to the value of another row in a column that policies compare). "42501" means that the caller lacks the grant.`

export type Recorded = {
  /** Lines that were added (+) and removed (-). */
  readonly changes: readonly string[]
  readonly isNew: boolean
}

/** Writes the matrix into a file, and keeps what else the file has. */
export async function writeMatrix(path: string, matrix: Matrix): Promise<Recorded> {
  const before = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  const document = before === undefined ? new Document({}) : parseDocument(before)
  if (before === undefined) document.commentBefore = head
  const node = document.createNode(matrix)
  visit(node, {
    Map: (_key, map) => {
      if (map.items.some(({ key }) => String(key) === 'allowed')) map.flow = true
    },
    Seq: (_key, list) => {
      list.flow = true
    },
  })
  if (!isMap(document.contents)) document.contents = document.createNode({})
  document.set('matrix', node)
  if (isCollection(document.contents)) document.contents.flow = false
  const after = document.toString({ lineWidth: 0, flowCollectionPadding: false, singleQuote: false })
  if (after !== before) await writeFile(path, after)
  const changes = diffLines(before ?? '', after).flatMap(({ added, removed, value }) =>
    added || removed
      ? value
          .trimEnd()
          .split('\n')
          .map((line) => `${added ? '+' : '-'} ${line}`)
      : [],
  )
  return { changes, isNew: before === undefined }
}
