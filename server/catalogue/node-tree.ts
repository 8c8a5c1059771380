// Reads the text form of PostgreSQL's node trees (`pg_node_tree`): conditions of policies, queries of views, bodies of
// functions. Names, quotes and comments of the SQL cannot be mistaken for syntax, which the text of an expression allows.
// The format is that of src/backend/nodes/read.c: `{TAG :field value …}`, lists in parentheses, `<>` for null. Postgres
// escapes every space, brace and parenthesis in a name with a backslash.

/** A value of a field: a node, a list, or the plain tokens. */
export type TreeValue = TreeNode | readonly TreeValue[] | string | null

export type TreeNode = {
  /** `FUNCEXPR`, `VAR`, … */
  readonly tag: string
  readonly fields: ReadonlyMap<string, TreeValue>
}

/** Syntax, or text between syntax, whose backslashes escape the next character. */
const token = /[(){}]|(?:\\[^]|[^\s(){}\\])+/g
/** What opens or closes a node or a list, and escapes, which do not. */
const bracket = /[(){}]|\\[^]/g

/** The tokens of a tree, one by one. */
class TreeTokens {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  /** The next token; undefined at the end. */
  next(): string | undefined {
    token.lastIndex = this.#at
    const found = token.exec(this.#text)?.[0]
    this.#at = found === undefined ? this.#text.length : token.lastIndex
    return found
  }

  /** Leaves out the rest of a node or list, whose opening bracket was read. */
  skip(): void {
    bracket.lastIndex = this.#at
    for (let depth = 1; depth > 0;) {
      const found = bracket.exec(this.#text)?.[0]
      if (found === undefined) break
      if (found === '{' || found === '(') depth++
      else if (found === '}' || found === ')') depth--
    }
    this.#at = bracket.lastIndex || this.#text.length
  }
}

/** Removes the escapes of a name. */
export const unescaped = (text: string): string => text.replace(/\\([^])/g, '$1')

/**
 * Reads a tree.
 *
 * @throws Error if the text has another form
 */
export function readNodeTree(text: string): TreeValue {
  const tokens = new TreeTokens(text)
  const next = (): string => {
    const found = tokens.next()
    if (found === undefined) throw new Error('The node tree ends too early')
    return found
  }

  const readValue = (first: string): TreeValue => {
    if (first === '{') return readNode()
    if (first === '(') {
      const items: TreeValue[] = []
      for (let item = next(); item !== ')'; item = next()) items.push(readValue(item))
      return items
    }
    if (first === ')' || first === '}') throw new Error(`Unexpected ${first} in a node tree`)
    return first === '<>' ? null : first
  }

  const readNode = (): TreeNode => {
    const tag = next()
    const fields = new Map<string, TreeValue>()
    for (let label = next(); label !== '}';) {
      if (!label.startsWith(':')) throw new Error(`Unexpected ${label} in a node tree`)
      // The first token belongs to the value even if it begins with a colon, as a name may.
      const values = [readValue(next())]
      const field = label.slice(1)
      for (label = next(); label !== '}' && !label.startsWith(':'); label = next()) values.push(readValue(label))
      const [only = null] = values
      fields.set(field, values.length === 1 ? only : values)
    }
    return { tag, fields }
  }

  const tree = readValue(next())
  if (tokens.next() !== undefined) throw new Error('The node tree goes on after its end')
  return tree
}

/** One column of a view: its number, and the relation (oid) and number of the column that it copies. */
export type ColumnOrigin = { readonly column: number; readonly relation: string; readonly relationColumn: number }

/**
 * The origins of the columns of a view's stored query, in the order of its target list, without those that do not copy a
 * column (expressions, whole rows, constants). Postgres records for each entry of a target list which column it copies, also
 * through subqueries, joins and CTEs: see `TargetEntry` in src/include/nodes/primnodes.h. Reads little of the tree, because a
 * schema may have thousands of views.
 */
export function columnOrigins(tree: string): ColumnOrigin[] {
  const tokens = new TreeTokens(tree)
  const origins: ColumnOrigin[] = []
  if (tokens.next() !== '(' || tokens.next() !== '{') return origins
  for (let name = tokens.next(); name !== ':targetList'; name = tokens.next()) {
    if (name === undefined || name === '}') return origins
    if (name === '{' || name === '(') tokens.skip()
  }
  if (tokens.next() !== '(') return origins
  while (tokens.next() === '{') {
    const entry = new Map<string | undefined, string | undefined>()
    tokens.next()
    for (let name = tokens.next(); name !== '}'; name = tokens.next()) {
      const value = tokens.next()
      if (value === undefined) return origins
      if (value === '{' || value === '(') tokens.skip()
      else entry.set(name, value)
    }
    const [column = '', relation = '0', number = '0'] = [':resno', ':resorigtbl', ':resorigcol'].map((it) =>
      entry.get(it),
    )
    if (relation !== '0' && Number(number) > 0)
      origins.push({ column: Number(column), relation, relationColumn: Number(number) })
  }
  return origins
}

export const isNode = (value: TreeValue | undefined): value is TreeNode =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** All nodes within a value, itself included, parents first. */
export function* nodesOf(value: TreeValue | undefined): Generator<TreeNode> {
  if (value === null || value === undefined || typeof value === 'string') return
  if (isNode(value)) {
    yield value
    for (const field of value.fields.values()) yield* nodesOf(field)
  } else {
    for (const item of value) yield* nodesOf(item)
  }
}

/** A number in a field; 0 if there is none. */
export function numberIn({ fields }: TreeNode, field: string): number {
  const value = fields.get(field)
  return typeof value === 'string' ? Number(value) : 0
}

/** The items of a field that is a list. */
export function listIn({ fields }: TreeNode, field: string): readonly TreeValue[] {
  const value = fields.get(field)
  return Array.isArray(value) ? (value as readonly TreeValue[]) : []
}

/** Fields that say where in a statement an expression stood, not what it does. */
const positions = new Set([
  'location',
  'list_start',
  'list_end',
  'rexpr_list_start',
  'rexpr_list_end',
  'stmt_location',
  'stmt_len',
  'varnosyn',
  'varattnosyn',
])

/** The same text for the same expression, wherever it stands. */
export function canonical(value: TreeValue): string {
  if (value === null) return '<>'
  if (typeof value === 'string') return value
  if (!isNode(value)) return `(${value.map(canonical).join(' ')})`
  const fields = [...value.fields].filter(([name]) => !positions.has(name))
  return `{${value.tag} ${fields.map(([name, field]) => `:${name} ${canonical(field)}`).join(' ')}}`
}

/** The text of a constant of type `text`, or undefined. Node trees have the bytes of the value, in the order of the machine. */
export function textConstant(node: TreeNode): string | undefined {
  const value = node.fields.get('constvalue')
  const textTypes = [25, 1043, 1042, 705]
  if (node.tag !== 'CONST' || !textTypes.includes(numberIn(node, 'consttype')) || !Array.isArray(value))
    return undefined
  // The length, then the bytes in brackets: a header of four bytes and the text.
  const bytes = (value as readonly TreeValue[]).slice(2, -1).map((byte) => (Number(byte) + 256) % 256)
  return Buffer.from(bytes.slice(4)).toString('utf8')
}
