// Fields: columns with JSON paths, conversions and full-text search.
import type { QualifiedIdentifier } from '../../catalogue/identifier.ts'
import type { PlannedField } from '../plan/field.ts'
import type { JsonOperation } from '../request/field.ts'
import type { Fragment } from './fragment.ts'
import { column, identifier } from './identifier.ts'
import { parameter } from './parameter.ts'

/** `->$1->>$2::int`: keys and indexes are parameters. */
const jsonPathSql = (path: readonly JsonOperation[]): Fragment =>
  path.map(({ arrow, operand }) => [arrow, parameter(operand.text), operand.kind === 'index' ? '::int' : ''])

/** A column with its JSON path. */
export function columnSql(
  relation: QualifiedIdentifier,
  { name, jsonPath }: Pick<PlannedField, 'name' | 'jsonPath'>,
  toJson = false,
): Fragment {
  const source = column(relation, name)
  if (jsonPath.length === 0) return source
  return [toJson ? `to_jsonb(${source})` : source, jsonPathSql(jsonPath)]
}

/** The language of a full-text search, as the first argument of a function. */
export const languageSql = (language: string | null): Fragment => (language === null ? '' : [parameter(language), ', '])

/** A field without its representation. */
export function fieldSql(relation: QualifiedIdentifier, field: PlannedField): Fragment {
  const source = field.fullRow ? identifier(relation.name) : columnSql(relation, field, field.toJson)
  return field.toTsVector === null ? source : ['to_tsvector(', languageSql(field.toTsVector.language), source, ')']
}

/** Applies the representation function of a field, if it has one, to a value of that field. */
export const represented = ({ transform }: PlannedField, value: Fragment): Fragment =>
  transform === null ? value : [transform, '(', value, ')']
