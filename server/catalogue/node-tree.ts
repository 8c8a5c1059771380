// Finds the origins of a view's columns in its stored query, the text form of `pg_node_tree`. Postgres records for each
// entry of a target list which column it copies (`resorigtbl`, `resorigcol`), also through subqueries, joins and CTEs.
// See `TargetEntry` in src/include/nodes/primnodes.h.

/** One column of a view: its number, and the relation (oid) and number of the column that it copies. */
export type ColumnOrigin = { readonly column: number; readonly relation: string; readonly relationColumn: number }

const backslash = 0x5c
const open = { brace: 0x7b, parenthesis: 0x28 }
const close = { brace: 0x7d, parenthesis: 0x29 }

const listStart = ' :targetList ('
const entryFields = / :resno (\d+) .* :resorigtbl (\d+) :resorigcol (\d+) /s

/**
 * The origins of the columns of a stored query, in the order of its target list, without those that do not copy a column
 * (expressions, whole rows, constants). Names cannot be mistaken for syntax: Postgres escapes every space, brace and
 * parenthesis in them with a backslash.
 */
export function columnOrigins(tree: string): ColumnOrigin[] {
  const origins: ColumnOrigin[] = []
  // Depths of the query `({QUERY …})` and of its target list. The target lists of subqueries are deeper in the tree.
  const queryDepth = 2
  let listDepth = 0
  let depth = 0
  // Position after the last nested node of the current entry.
  let tail = 0
  for (let at = 0; at < tree.length; at++) {
    const character = tree.charCodeAt(at)
    if (character === backslash) {
      at++
    } else if (character === open.brace || character === open.parenthesis) {
      if (depth === queryDepth && character === open.parenthesis && endsWith(tree, listStart, at)) listDepth = depth + 1
      depth++
    } else if (character === close.brace || character === close.parenthesis) {
      depth--
      if (listDepth === 0) continue
      if (depth < listDepth) return origins
      if (depth === listDepth) {
        const fields = entryFields.exec(tree.slice(tail, at))
        if (fields?.[1] && fields[2] && fields[3] && fields[2] !== '0' && fields[3] !== '0') {
          origins.push({ column: Number(fields[1]), relation: fields[2], relationColumn: Number(fields[3]) })
        }
      }
      tail = at
    }
  }
  return origins
}

const endsWith = (text: string, suffix: string, at: number): boolean => text.startsWith(suffix, at - suffix.length + 1)
