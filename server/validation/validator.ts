// Validates bodies with the JSON Schemas before the database is queried, and reports all faults at once.
import { fileURLToPath } from 'node:url'
import type { Ajv2020, ValidateFunction } from 'ajv/dist/2020.js'
import { qualifiedKey } from '../catalogue/identifier.ts'
import type { BodyValidator, TableBodies } from '../rest/validation.ts'
import { loadAjv } from './ajv.ts'
import { faultOf, type Fault } from './fault.ts'
import { addBoundedFormats } from './formats.ts'
import { addKeywords, coerceKeyword, tableKeyword } from './keywords.ts'
import { readSchemas, type SchemaFile } from './schema-directory.ts'
import { textFault } from './text-fault.ts'

export type { Fault } from './fault.ts'

/** Validates a body of a service, and changes it in place if the schema has `x-trim` or `x-coerce`. */
export type DtoValidator = (body: unknown) => readonly Fault[]

export type Validator = BodyValidator & {
  /** @throws Error when no schema has that `$id` */
  readonly forDto: (id: string) => DtoValidator
}

/** The folder of the program's own schemas. */
export const ownSchemas = fileURLToPath(new URL('../../schemas', import.meta.url))

/** Maximum number of faults that are listed. A last one has the number of the others. */
export const maxFaults = 100

/** For an object with more properties, only the first fault is reported. */
const maxProperties = 1000

/**
 * `first` stops at the first fault, which is fast; `all` finds all of them, for values that have any. Each is compiled
 * when it is first read.
 */
type Check = { readonly first: ValidateFunction; readonly all: ValidateFunction }

export type CompileOptions = {
  /**
   * Compiles the schemas of services, and those of tables that are not the project's, at their first use: half of the processor
   * time of a start. Those of services are not compared with the meta-schema. It is for schemas that are known to be right, such as
   * the program's own.
   */
  readonly trustsServices?: boolean
}

/**
 * Reads and compiles the schemas of a folder. Those of the program are trusted.
 *
 * @throws Error naming the schema that is wrong, or two for the same table
 */
export const createValidator = async (directory = ownSchemas): Promise<Validator> =>
  compileSchemas(await readSchemas(directory), { trustsServices: directory === ownSchemas })

/** @throws Error naming the schema that is wrong, or two for the same table */
export function compileSchemas(
  files: readonly SchemaFile[],
  { trustsServices = false }: CompileOptions = {},
): Validator {
  const tables = new Map<string, TableBodies>()
  const dtos = new Map<string, DtoValidator>()
  const compileTable = compilerOf(files, 'table')
  const compileTextTable = compilerOf(files, 'text table')
  const compileDto = compilerOf(files, 'dto', trustsServices)
  const compileCoercedDto = compilerOf(files, 'coerced dto', trustsServices)
  for (const file of files) {
    if (file.table) {
      const key = qualifiedKey(file.table.schema, file.table.name)
      if (tables.has(key)) throw new Error(`${file.id}: another schema has the same ${tableKeyword}`)
      const insert = compileTable(file.id, file.schema)
      const update = compileTable(file.id, forUpdate(file))
      // What is wrong in a schema is wrong in each of its checks, so these two find it.
      if (!trustsServices || file.isOfProject === true) void [insert.first, update.first]
      const insertText = compileTextTable(file.id, file.schema)
      const updateText = compileTextTable(file.id, forUpdate(file))
      tables.set(key, {
        validateInsert: (body, isText) => rowFaults(isText ? insertText : insert, body),
        validateUpdate: (body, isText) => rowFaults(isText ? updateText : update, body),
      })
    } else {
      const isCoerced = coerceKeyword in file.schema && file.schema[coerceKeyword] === true
      const check = (isCoerced ? compileCoercedDto : compileDto)(file.id, file.schema)
      if (!trustsServices) void [check.first, check.all]
      dtos.set(file.id, (body) => limited(dtoFaults(check, body), 0))
    }
  }
  return {
    forTable: (schema, table) => tables.get(qualifiedKey(schema, table)),
    forDto: (id) => {
      const dto = dtos.get(id)
      if (!dto) throw new Error(`no JSON Schema has the $id ${id}`)
      return dto
    },
  }
}

/** Which values Ajv converts: none, single ones, or also single ones to lists. */
const coercions = { table: false, 'text table': true, dto: false, 'coerced dto': 'array' } as const

function compilerOf(
  files: readonly SchemaFile[],
  use: keyof typeof coercions,
  isTrusted = false,
): (id: string, schema: object) => Check {
  const ofTables = use === 'table' || use === 'text table'
  const instance = (allErrors: boolean): Ajv2020 => {
    const { Ajv2020 } = loadAjv()
    const ajv = new Ajv2020({
      allErrors,
      coerceTypes: coercions[use],
      ownProperties: true,
      allowUnionTypes: true,
      validateSchema: !isTrusted,
      logger: false,
    })
    addKeywords(ajv, ofTables ? 'table' : 'dto')
    addBoundedFormats(ajv)
    // Schemas may refer to each other by their $id.
    for (const { id, table, schema } of files) {
      if ((table !== undefined) === ofTables) naming(id, () => ajv.addSchema(schema))
    }
    return ajv
  }
  const first = once(() => instance(false))
  const all = once(() => instance(true))
  return (id, schema) => {
    const compiledFirst = once(() => naming(id, () => first().compile(schema)))
    const compiledAll = once(() => naming(id, () => all().compile(schema)))
    return {
      get first() {
        return compiledFirst()
      },
      get all() {
        return compiledAll()
      },
    }
  }
}

/** Returns what `make` returns, which is called at the first call. */
function once<T extends object>(make: () => T): () => T {
  let made: T | undefined
  return () => (made ??= make())
}

/** Prefixes errors of `use` with the `$id` of the schema. */
function naming<T>(id: string, use: () => T): T {
  try {
    return use()
  } catch (error) {
    throw new Error(`${id}: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  }
}

/** The schema of updates: no property is required. */
function forUpdate({ id, schema }: SchemaFile): object {
  return { ...schema, $id: `${id}:update`, required: [], minProperties: 0, dependentRequired: {} }
}

/** The faults of one row, or of all rows of an array; the pointers then begin with the index of the row. */
function rowFaults(check: Check, body: unknown): readonly Fault[] {
  if (!Array.isArray(body)) return limited(objectFaults(check, body, ''), 0)
  const faults: Fault[] = []
  let faultyRows = 0
  for (let index = 0; index < body.length; index++) {
    if (faults.length <= maxFaults) {
      for (const fault of objectFaults(check, body[index], `/${index}`)) faults.push(fault)
    } else if (!check.first(body[index])) {
      faultyRows++
    }
  }
  return limited(faults, faultyRows)
}

function objectFaults(check: Check, value: unknown, at: string): Fault[] {
  if (check.first(value)) return []
  const found = isVast(value) || check.all(value) ? check.first.errors : check.all.errors
  return (found ?? []).map((error) => faultOf(error, at))
}

/** Services store the texts of their bodies, including members that a schema does not name. */
function dtoFaults(check: Check, body: unknown): Fault[] {
  const faults = objectFaults(check, body, '')
  const ofText = textFault(body)
  const isKnown = ofText === undefined || faults.some(({ pointer }) => pointer === ofText.pointer)
  return isKnown ? faults : [...faults, ofText]
}

const isVast = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length > maxProperties

function limited(faults: Fault[], moreRows: number): readonly Fault[] {
  if (faults.length <= maxFaults) return faults
  const more = faults.length - maxFaults
  const rows = moreRows > 0 ? `, and faults in ${moreRows} more rows` : ''
  return [...faults.slice(0, maxFaults), { pointer: '', message: `has ${more} more faults${rows}` }]
}
