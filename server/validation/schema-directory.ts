// Reads the JSON Schemas of a folder.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { tableKeyword } from './keywords.ts'

export type SchemaFile = {
  readonly id: string
  /** The table whose bodies must match the schema, if any. */
  readonly table: { readonly schema: string; readonly name: string } | undefined
  readonly schema: Readonly<Record<string, unknown>>
  /** Whether the schema is the user's own. */
  readonly isOfProject?: boolean
}

/**
 * Reads all `*.json` files of the folder.
 *
 * @throws Error naming the file that is not JSON, has no `$id`, is not an object that is closed or explicitly open, or whose table has no schema
 */
export const readSchemas = (directory: string): Promise<SchemaFile[]> =>
  readFiles(directory, (content) => [schemaFile(content)])

/**
 * Reads the `*.json` files of the folder that are for a table, and ignores all others.
 *
 * @throws as `readSchemas`
 */
export const readTableSchemas = (directory: string): Promise<SchemaFile[]> =>
  readFiles(directory, (content) =>
    typeof content === 'object' && content !== null && tableKeyword in content
      ? [{ ...schemaFile(content), isOfProject: true }]
      : [],
  )

async function readFiles(directory: string, parse: (content: unknown) => SchemaFile[]): Promise<SchemaFile[]> {
  const names = (await readdir(directory)).filter((name) => name.endsWith('.json')).sort()
  const files = await Promise.all(
    names.map(async (name) => {
      const path = join(directory, name)
      try {
        return parse(JSON.parse(await readFile(path, 'utf8')))
      } catch (error) {
        throw new Error(`${path}: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
      }
    }),
  )
  return files.flat()
}

function schemaFile(content: unknown): SchemaFile {
  if (typeof content !== 'object' || content === null || Array.isArray(content)) throw new Error('not a schema object')
  const schema = content as Record<string, unknown>
  if (typeof schema.$id !== 'string' || schema.$id === '') throw new Error('$id is missing')
  // Only a schema that says so ignores properties that it does not know.
  const isOpen = schema.additionalProperties === true && schema[tableKeyword] === undefined
  if (schema.type !== 'object' || (schema.additionalProperties !== false && !isOpen)) {
    throw new Error('must have "type": "object" and "additionalProperties": false')
  }
  return { id: schema.$id, table: tableOf(schema[tableKeyword]), schema }
}

function tableOf(annotation: unknown): SchemaFile['table'] {
  if (annotation === undefined) return undefined
  const dot = typeof annotation === 'string' ? annotation.indexOf('.') : -1
  if (typeof annotation !== 'string' || dot < 1 || dot === annotation.length - 1) {
    throw new Error(`${tableKeyword} must be "schema.table"`)
  }
  return { schema: annotation.slice(0, dot), name: annotation.slice(dot + 1) }
}
