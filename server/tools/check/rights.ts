// What every role may do, as comparable text: privileges on relations, schemas and functions, and the rows that policies let it
// read and write. Two readings, before and after a statement, show what the statement changes.
import { introspectionSettings } from '../../catalogue/load.ts'
import { unwrapped } from '../../catalogue/expression.ts'
import { rowsOf, type RunClientQuery } from '../../catalogue/introspection.ts'
import { readPart, type PolicyRow, type Relation, type Role } from '../../catalogue/description.ts'
import { extentOf, mayExecute, mayUseColumn } from '../../catalogue/rights.ts'
import type { CheckCatalogue } from './catalogue.ts'
import { canonical } from '../../catalogue/node-tree.ts'
import { PolicyExpressions } from './policy-expression.ts'
import { SchemaView } from './schema-view.ts'

type Right = {
  /** For people. */
  readonly text: string
  /** Differs wherever the right does, also where the text is the same. */
  readonly exact: string
  /** A statement that uses the right. */
  readonly statement?: string
}

/** By role, object and command. */
export type Rights = ReadonlyMap<string, Right>

export type RightChange = {
  readonly role: string
  /** `table public.t`, `function public.f(integer)`, `schema api` */
  readonly object: string
  /** `select`, `insert`, `update`, `delete`, `execute`, `usage` */
  readonly command: string
  readonly before: string
  readonly after: string
}

const none: Right = { text: 'no', exact: '' }

const kinds = { r: 'table', p: 'table', f: 'foreign table', v: 'view', m: 'materialized view' } as const
const commands = ['select', 'insert', 'update', 'delete'] as const
type Command = (typeof commands)[number]

/**
 * Reads the rights in the caller's open transaction, of all roles but superusers and PostgreSQL's own. Sets the `search_path`
 * of the transaction.
 */
export async function readRights(query: RunClientQuery): Promise<Rights> {
  const run = rowsOf(query)
  await query(introspectionSettings)
  return rightsOf({
    roles: (await readPart(run, 'roles', [])).map((role) => ({ ...role, isApi: isOrdinary(role) })),
    schemas: await readPart(run, 'schemas'),
    relations: await readPart(run, 'relations', []),
    policies: await readPart(run, 'policies'),
    functions: await readPart(run, 'functions'),
  })
}

const isOrdinary = ({ isSuperuser, name }: Role): boolean => !isSuperuser && !name.startsWith('pg_')

type Described = Pick<CheckCatalogue, 'roles' | 'schemas' | 'relations' | 'policies' | 'functions'>

function rightsOf(described: Described): Rights {
  const { roles, relations, functions } = described
  const view = new SchemaView({ ...nothing, ...described })
  const expressions = new PolicyExpressions(view)
  const rights = new Map<string, Right>()
  const add = (role: Role, object: string, command: string, right: Right | undefined): void => {
    if (right) rights.set(JSON.stringify([role.name, object, command]), right)
  }
  for (const role of roles.filter(isOrdinary)) {
    for (const relation of relations) {
      const object = `${kinds[relation.kind]} ${relation.schema}.${relation.name}`
      for (const command of commands) add(role, object, command, rightOn(view, expressions, role, relation, command))
    }
    for (const routine of functions) {
      if (!mayExecute(role, routine)) continue
      const object = `function ${routine.schema}.${routine.name}(${routine.arguments})`
      const owner = view.role(routine.owner)?.name ?? String(routine.owner)
      add(role, object, 'execute', routine.isSecurityDefiner ? plain(`as ${owner}`) : plain('yes'))
    }
  }
  return rights
}

const nothing: CheckCatalogue = {
  version: 0,
  equalities: [],
  extensions: [],
  schemas: [],
  functionDefaults: [],
  creators: [],
  published: [],
  storage: null,
  unproven: null,
  exposedSchemas: [],
  extraSearchPath: [],
  anonymous: '',
  roles: [],
  relations: [],
  indexes: [],
  foreignKeys: [],
  policies: [],
  functions: [],
  dependencies: [],
  settingFunctions: [],
  ownFunctions: [],
  triggers: [],
  bloated: [],
  buckets: [],
  hidden: [],
  login: '',
}

const plain = (text: string): Right => ({ text, exact: text })

function rightOn(
  view: SchemaView,
  expressions: PolicyExpressions,
  role: Role,
  relation: Relation,
  command: Command,
): Right | undefined {
  const granted = extentOf(role, relation, command)
  if (granted === null) return undefined
  const extent = command === 'select' && granted === 'columns' ? 'some columns of ' : ''
  const rows = rowsBy(view, expressions, role, relation, command)
  if (!view.canUseSchema(role, relation.schema)) return plain(`${extent}${rows.text}, but for USAGE on the schema`)
  return {
    text: `${extent}${rows.text}`,
    exact: `${extent}${rows.exact}`,
    statement: statementOf(relation, role, command, extent === ''),
  }
}

function statementOf(relation: Relation, role: Role, command: Command, isWhole: boolean): string {
  const { quoted, columns } = relation
  const column = columns.find(({ number }) => mayUseColumn(role, relation, 'update', number)) ?? columns[0]
  switch (command) {
    case 'select':
      return `select ${isWhole ? '*' : '1'} from ${quoted}`
    case 'insert':
      return `insert into ${quoted} default values`
    case 'update':
      return `update ${quoted} set ${column?.quoted ?? 'ctid'} = default`
    default:
      return `delete from ${quoted}`
  }
}

function rowsBy(
  view: SchemaView,
  expressions: PolicyExpressions,
  role: Role,
  relation: Relation,
  command: Command,
): Right {
  if (relation.kind === 'v' && !view.isInvoker(relation))
    return plain(`rows as ${view.role(relation.owner)?.name ?? 'the owner'}`)
  if (relation.kind === 'v') return plain('rows as the caller')
  if (!relation.rls || !view.isSubjectTo(role, relation)) return plain('all rows')
  const upper = command.toUpperCase() as Uppercase<Command>
  const policies = view.applying(relation, role, upper)
  const names = policies.map(({ name }) => name).sort()
  if (!policies.some(({ isPermissive }) => isPermissive)) return plain('no rows')
  const clauses = (['using', 'check'] as const).map((clause) => exactOf(expressions, policies, command, clause))
  return { text: `rows by ${names.join(', ')}`, exact: JSON.stringify(clauses) }
}

/** The alternatives of permissive policies and the conditions of restrictive ones, without what makes no difference. */
function exactOf(
  expressions: PolicyExpressions,
  policies: readonly PolicyRow[],
  command: Command,
  clause: 'using' | 'check',
): unknown {
  if (clause === 'using' ? command === 'insert' : command === 'select' || command === 'delete') return null
  const alternatives = (policy: PolicyRow): string[] => {
    const tree = clause === 'using' ? policy.usingTree : (policy.checkTree ?? policy.usingTree)
    return expressions
      .condition(tree)
      .map((part) => [...new Set(part.map(({ node }) => canonical(unwrapped(node))))].sort().join(' and '))
  }
  const permissive = policies.filter(({ isPermissive }) => isPermissive).flatMap(alternatives)
  const restrictive = policies
    .filter(({ isPermissive }) => !isPermissive)
    .map((it) => alternatives(it).sort().join(' or '))
  return [[...new Set(permissive)].sort(), [...new Set(restrictive)].sort()]
}

/** What differs between two readings. */
export function rightChanges(before: Rights, after: Rights): RightChange[] {
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((key) => {
    const [was, is] = [before.get(key) ?? none, after.get(key) ?? none]
    if (was.exact === is.exact) return []
    const [role, object, command] = JSON.parse(key) as [string, string, string]
    const isAlike = was.text === is.text
    return [{ role, object, command, before: was.text, after: isAlike ? `${is.text}, by another condition` : is.text }]
  })
}
