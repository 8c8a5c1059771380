// `read_rows`: a read through the engine, as the caller.
import { qualifiedKey } from '../../../catalogue/identifier.ts'
import { pathSegments } from '../../../rest/request/resource.ts'
import { jsonElements } from '../../../text/json-members.ts'
import { askEngine } from '../ask-engine.ts'
import type { McpParts } from '../mcp-parts.ts'
import { limitedQuery, targetOf } from '../target.ts'
import { defineTool } from '../tool.ts'
import { ToolRefusal } from '../tool-refusal.ts'

type Given = {
  readonly path: string
  readonly schema?: string
  readonly count?: 'exact' | 'planned' | 'estimated'
}

export const readTool = defineTool<Given>({
  name: 'read_rows',
  title: 'Read rows',
  description:
    "Reads rows of a table or view, or the result of a function that only reads, with your rights: row-level security applies. `path` is that of PostgREST's API: /tasks?select=id,title,owner:people(name)&done=is.false&order=id.desc&limit=20 or /rpc/function_name?argument=value. A response has a limited number of rows; select only the columns that you need.",
  schema: 'urn:rowhouse:McpReadArguments',
  effect: 'reads',
  refusal: () => undefined,
  run: async ({ path, schema, count }, context) => {
    const { mcpMaxRows, restBasePath } = context.parts.snapshot().config
    const { resource, query } = targetOf(path, restBasePath)
    requireReading(resource, schema, context.parts)
    const answer = await askEngine(
      context.parts.engine,
      {
        method: 'GET',
        target: `/${resource}?${limitedQuery(query, mcpMaxRows)}`,
        headers: [
          ['accept', 'application/json'],
          ...(schema === undefined ? [] : ([['accept-profile', schema]] as const)),
          ...(count === undefined ? [] : ([['prefer', `count=${count}`]] as const)),
        ],
      },
      context,
    )
    if (!answer.text.trimStart().startsWith('[')) {
      return { heading: 'The result is one value.', data: answer.text === '' ? 'null' : answer.text }
    }
    const rows = jsonElements(answer.text)
    const isCut = rows.length > mcpMaxRows
    const shown = rows.slice(0, mcpMaxRows)
    const total = count === undefined ? undefined : totalOf(answer.header('content-range'))
    const more = isCut ? ` There are more: MCP_MAX_ROWS is ${mcpMaxRows}. Use filters, or limit and offset.` : ''
    return {
      heading: `${shown.length} ${shown.length === 1 ? 'row' : 'rows'}${total === undefined ? '' : ` of ${total}`}.${more}`,
      data: `[${shown.join(',\n')}]`,
      own: { rows: shown.length, is_cut: isCut, ...(total === undefined ? {} : { total }) },
    }
  },
})

/**
 * A transaction that only reads does not keep a function from effects outside the database.
 *
 * @throws ToolRefusal for a function that is not declared to have none
 */
function requireReading(resource: string, schema: string | undefined, { snapshot }: McpParts): void {
  const { config, schemaCache } = snapshot()
  const [, name] = pathSegments(resource)
  if (name === undefined) return
  const overloads = schemaCache?.routines.get(qualifiedKey(schema ?? config.dbSchemas[0] ?? '', name)) ?? []
  if (overloads.every(({ volatility }) => volatility !== 'volatile')) return
  throw new ToolRefusal(
    `path: the function ${JSON.stringify(name.slice(0, 100))} may write. Only functions that are declared stable or immutable are called.`,
  )
}

/** The number of all rows in `Content-Range`: `0-24/3573`. */
function totalOf(range: string | undefined): number | undefined {
  const [, total] = /\/(\d+)$/.exec(range ?? '') ?? []
  return total === undefined ? undefined : Number(total)
}
