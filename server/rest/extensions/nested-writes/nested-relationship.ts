// The relationship that a key of a body names.
import { qualifiedKey, type QualifiedIdentifier } from '../../../catalogue/identifier.ts'
import { relationshipKey, type ForeignKeyRelationship, type Relationship } from '../../../catalogue/relationship.ts'
import type { SchemaCache } from '../../../catalogue/schema-cache.ts'
import type { Table } from '../../../catalogue/table.ts'
import { ApiError, errors } from '../../errors.ts'
import { parseNestedKey } from './nested-key.ts'
import { atPath, nestedErrors } from './nested-errors.ts'
import { maxSteps } from './nested-steps.ts'
import { chooseRelationship } from '../../plan/relationship-choice.ts'

const noRelationship = 'PGRST200'

/** Like `chooseRelationship`, but returns undefined when there is none. */
function find(cache: SchemaCache, table: Table, target: string, hint: string | null): Relationship | undefined {
  if (!cache.relationships.has(relationshipKey(table, table.schema))) return undefined
  try {
    return chooseRelationship(cache, { schema: table.schema, name: table.name }, target, hint)
  } catch (error) {
    if (error instanceof ApiError && error.code === noRelationship) return undefined
    throw error
  }
}

/**
 * The relationship that a key of a body names, by the rules of embeds; undefined if it is the name of a column, or of
 * nothing.
 *
 * @throws ApiError PGRST201 when there are several
 */
export function nestedRelationship(cache: SchemaCache, table: Table, key: string): Relationship | undefined {
  if (table.columns.has(key)) return undefined
  const exact = find(cache, table, key, null)
  if (exact) return exact
  const parsed = parseNestedKey(key)
  return parsed && find(cache, table, parsed.relation, parsed.hint)
}

export type NestedRelation = { readonly relationship: ForeignKeyRelationship; readonly table: Table }

/** The relationships that the keys of one body name. */
export class NestedRelations {
  readonly #cache: SchemaCache
  readonly #known = new Map<string, NestedRelation>()

  constructor(cache: SchemaCache) {
    this.#cache = cache
  }

  /**
   * The relationship that a key names, with the table at its other side.
   *
   * @param path pointer to the key
   * @throws ApiError PGRST201, PGRST204; PGRSTX22, PGRSTX24
   */
  find(table: Table, key: string, path: string): NestedRelation {
    const memo = `${qualifiedKey(table.schema, table.name)}\0${key}`
    const known = this.#known.get(memo)
    if (known) return known
    // Aliases make the number of keys unlimited.
    if (this.#known.size >= maxSteps) throw nestedErrors.tooManySteps(maxSteps)
    try {
      const relationship = nestedRelationship(this.#cache, table, key)
      if (!relationship) throw errors.noColumn(table.name, key)
      if (relationship.kind === 'computed') throw nestedErrors.computed(key, path)
      const found = { relationship, table: this.table(relationship.foreignTable) }
      this.#known.set(memo, found)
      return found
    } catch (error) {
      throw error instanceof ApiError && !error.code.startsWith('PGRSTX') ? ofKey(error, path) : error
    }
  }

  /** @throws ApiError PGRST205 */
  table({ schema, name }: QualifiedIdentifier): Table {
    const table = this.#cache.tables.get(qualifiedKey(schema, name))
    if (!table) throw errors.noTable(schema, name, null)
    return table
  }
}

/** Adds a pointer to an error of a key. An ambiguous relationship has its candidates in the details. */
function ofKey(error: ApiError, path: string): ApiError {
  if (typeof error.details === 'string' || error.details === null) return atPath(error, path)
  return error.with({ message: `${error.message}, at ${path}` })
}
