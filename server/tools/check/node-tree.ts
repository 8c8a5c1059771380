// Reads the text form of PostgreSQL's node trees (`pg_node_tree`): conditions of policies, queries of views, bodies of
// functions. Names, quotes and comments of the SQL cannot be mistaken for syntax, which the text of an expression allows.
// The format is that of src/backend/nodes/read.c: `{TAG :field value …}`, lists in parentheses, `<>` for null.

/** A value of a field: a node, a list, or the plain tokens. */
export type TreeValue = TreeNode | readonly TreeValue[] | string | null

export type TreeNode = {
  /** `FUNCEXPR`, `VAR`, … */
  readonly tag: string
  readonly fields: ReadonlyMap<string, TreeValue>
}

/** Syntax, or text between syntax, whose backslashes escape the next character. */
const token = /[(){}]|(?:\\[^]|[^\s(){}\\])+/g

/** Removes the escapes of a name. */
export const unescaped = (text: string): string => text.replace(/\\([^])/g, '$1')

/**
 * Reads a tree.
 *
 * @throws Error if the text has another form
 */
export function readNodeTree(text: string): TreeValue {
  const tokens = text.match(token) ?? []
  let at = 0
  const next = (): string => {
    const found = tokens[at++]
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
    for (let label = next(); label !== '}'; label = next()) {
      if (!label.startsWith(':')) throw new Error(`Unexpected ${label} in a node tree`)
      // The first token belongs to the value even if it begins with a colon, as a name may.
      const values = [readValue(next())]
      while (at < tokens.length && tokens[at] !== '}' && !tokens[at]?.startsWith(':')) values.push(readValue(next()))
      const [only = null] = values
      fields.set(label.slice(1), values.length === 1 ? only : values)
    }
    return { tag, fields }
  }

  const tree = readValue(next())
  if (at !== tokens.length) throw new Error('The node tree goes on after its end')
  return tree
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
