// The expression of the response body, which aggregates the rows of the result.
import { sourceCte } from '../plan/read-plan.ts'
import type { MediaHandler } from '../../catalogue/media-handler.ts'
import { returnsScalar, returnsSetOfScalar, returnsSingleComposite } from '../../catalogue/routine.ts'
import type { Routine } from '../../catalogue/routine.ts'
import { qualified } from './identifier.ts'

/** Name of the CTE with the rows that are read, written or returned. */
export const sourceName = sourceCte
/** Alias of the rows that the body aggregates. */
export const resultAlias = '_postgrest_t'
/** The column of a function that returns scalar values. */
export const scalarValue = `${resultAlias}.pgrst_scalar`

const strippable = (json: string, stripNulls: boolean): string => (stripNulls ? `json_strip_nulls(${json})` : json)

const first = (rows: string, stripNulls: boolean): string =>
  `coalesce(${strippable(`json_agg(${rows})->0`, stripNulls)}, 'null')`

const all = (rows: string, stripNulls: boolean): string =>
  `coalesce(${strippable(`json_agg(${rows})`, stripNulls)}, '[]')`

const singleJson = (routine: Routine | null, stripNulls: boolean): string =>
  first(routine !== null && returnsScalar(routine) ? scalarValue : resultAlias, stripNulls)

function json(routine: Routine | null, stripNulls: boolean): string {
  if (routine === null) return all(resultAlias, stripNulls)
  if (returnsSingleComposite(routine)) return first(resultAlias, stripNulls)
  if (returnsScalar(routine)) return first(scalarValue, stripNulls)
  return all(returnsSetOfScalar(routine) ? scalarValue : resultAlias, stripNulls)
}

// The text form of a row is its fields in parentheses, separated and quoted as in CSV.
const csv =
  `(SELECT coalesce(string_agg(a.k, ','), '')` +
  ` FROM (SELECT json_object_keys(r)::text as k` +
  ` FROM (SELECT row_to_json(hh) as r from ${sourceName} as hh limit 1) s) a)` +
  ` || '\n' || ` +
  `coalesce(string_agg(substring(${resultAlias}::text, 2, length(${resultAlias}::text) - 2), '\n'), '')`

/** One line of JSON for each row. A line feed in a value of the type `json` is white space. */
function ndjson(routine: Routine | null): string {
  const isScalar = routine !== null && (returnsScalar(routine) || returnsSetOfScalar(routine))
  const row = isScalar ? `coalesce(to_json(${scalarValue})::text, 'null')` : `row_to_json(${resultAlias})::text`
  return `coalesce(string_agg(replace(${row}, chr(10), ' ') || chr(10), ''), '')`
}

const geojson =
  `json_build_object('type', 'FeatureCollection', 'features', ` +
  `coalesce(json_agg(ST_AsGeoJSON(${resultAlias})::json), '[]'))`

/**
 * The expression of the body.
 *
 * @param routine the function whose result it is; null for relations
 */
export function bodySql(handler: MediaHandler, routine: Routine | null): string {
  switch (handler.kind) {
    case 'single-json':
      return singleJson(routine, handler.stripNulls)
    case 'array-json-strip':
      return json(routine, true)
    case 'json':
      return json(routine, false)
    case 'geojson':
      return geojson
    case 'csv':
      return csv
    case 'ndjson':
      return ndjson(routine)
    case 'custom': {
      const call = qualified(handler.function)
      if (routine !== null && returnsScalar(routine)) return `${call}(${scalarValue})`
      return `${call}(${resultAlias}${handler.target === null ? '' : `::${qualified(handler.target)}`})`
    }
    case 'none':
      return "''::text"
    default:
      return handler satisfies never
  }
}
