// `describe_schema`: tables, views and functions as the caller may see them.
import { fittingTexts } from '../fitting-texts.ts'
import { mayExplain } from './explain-tool.ts'
import { describeRelation, describeRoutine, outlineOf, readVisible } from '../visible-schema.ts'
import { defineTool, type ToolContext } from '../tool.ts'
import { ToolRefusal } from '../tool-refusal.ts'
import { readRelation } from '../../console/schema.ts'
import type { PolicyDetails } from '../../console/schema-protocol.ts'

type Given = { readonly schema?: string; readonly name?: string }

export const describeTool = defineTool<Given>({
  name: 'describe_schema',
  title: 'Describe the schema',
  description:
    'Describes the tables, views and functions that you may use, with their comments. Without `name`, it lists them with the columns; with the `name` of one, it has types, keys, defaults, relationships to embed, and the policies where you may see them. Call it before you write a path for read_rows.',
  schema: 'urn:rowhouse:McpDescribeArguments',
  effect: 'reads',
  refusal: () => undefined,
  run: async ({ schema: wanted, name }, context) => {
    const { config, schemaCache } = context.parts.snapshot()
    const schema = wanted ?? config.dbSchemas[0] ?? 'public'
    if (!config.dbSchemas.includes(schema)) {
      throw new ToolRefusal(
        `schema: ${JSON.stringify(schema)} is not a schema of the REST API, which has ${config.dbSchemas.join(', ')}`,
      )
    }
    if (!schemaCache) throw new ToolRefusal('The schema has not been loaded: try again in a few seconds.')
    const visible = await context.parts.database.transaction(
      context.caller.identity,
      (query) => readVisible(query, schemaCache, schema),
      'read',
    )
    if (name === undefined) {
      const relations = visible.relations.map((it) => JSON.stringify(outlineOf(it)))
      const routines = visible.routines.map((it) => JSON.stringify(describeRoutine(it)))
      const fitting = fittingTexts([...relations, ...routines], config.mcpMaxBytes)
      const [shown, called] = [fitting.texts.slice(0, relations.length), fitting.texts.slice(relations.length)]
      const more = fitting.isCut ? ' There are more: ask for one by its name.' : ''
      return {
        heading: `${relations.length} tables and views, and ${routines.length} functions.${more}`,
        data: `{"schema":${JSON.stringify(schema)},"schemas":${JSON.stringify(config.dbSchemas)},"relations":[${shown.join(',\n')}],"functions":[${called.join(',\n')}]}`,
        own: { is_cut: fitting.isCut },
      }
    }
    const relation = visible.relations.find(({ table }) => table.name === name)
    const routines = visible.routines.filter((routine) => routine.name === name)
    if (!relation && routines.length === 0) {
      throw new ToolRefusal(
        `name: there is no table, view or function ${JSON.stringify(name)} that you may use in this schema. Without a name, describe_schema lists them.`,
      )
    }
    const described = {
      schema,
      ...(relation && {
        relation: describeRelation(relation, visible, schemaCache),
        policies: await policiesOf(schema, name, context),
      }),
      ...(routines.length > 0 && { functions: routines.map(describeRoutine) }),
    }
    const data = JSON.stringify(described)
    if (Buffer.byteLength(data) > config.mcpMaxBytes) {
      throw new ToolRefusal(`The description has more than ${config.mcpMaxBytes} bytes (MCP_MAX_BYTES).`)
    }
    return { heading: 'The description.', data }
  },
})

/** The policies of a relation; null for callers who may not see them. */
async function policiesOf(
  schema: string,
  name: string,
  { caller, parts }: ToolContext,
): Promise<readonly PolicyDetails[] | null> {
  const { config, schemaCache: cache } = parts.snapshot()
  if (!mayExplain(caller.identity.role, config)) return null
  const relation = await parts.database.read((query) =>
    readRelation({ query, cache, exposed: config.dbSchemas }, schema, name),
  )
  return relation?.policies ?? []
}
