// How values of PostgreSQL's types become JSON, by the oid of the type. The rules are those of `to_json`: numbers and booleans
// are literals, times are in the format of ISO 8601, JSON is inserted as it is, arrays are arrays, and all other types are
// strings with the text of their output function, which is what the server sends.
// https://www.postgresql.org/docs/current/functions-json.html#FUNCTIONS-JSON-PROCESSING
import type { TextTypes } from '../../catalogue/schema-cache.ts'
import type { Column } from '../../catalogue/table.ts'
import { resultAlias } from '../sql/handler.ts'

/** What the text of a value is. */
export const form = {
  text: 0,
  plain: 1,
  number: 2,
  json: 3,
  boolean: 4,
  date: 5,
  timestamp: 6,
  timestamptz: 7,
} as const

export type ValueForm = (typeof form)[keyof typeof form]

/** Whether JSON has the bytes of the text, in quotes or not. */
export const isCopied = (kind: ValueForm): boolean => kind >= form.plain && kind <= form.json

export type ColumnType = {
  readonly form: ValueForm
  /** Whether the value is an array of such values. */
  readonly isArray: boolean
}

/** Oids of types and of their arrays. Those of PostgreSQL's own types never change: `pg_type.dat`. */
const builtin: readonly (readonly [ValueForm, readonly (readonly [type: number, array: number])[]])[] = [
  [form.boolean, [[16, 1000]]],
  [
    form.number,
    [
      // int8, int2, int4, float4, float8, numeric
      [20, 1016],
      [21, 1005],
      [23, 1007],
      [700, 1021],
      [701, 1022],
      [1700, 1231],
    ],
  ],
  [
    form.json,
    [
      [114, 199],
      [3802, 3807],
    ],
  ],
  [form.date, [[1082, 1182]]],
  [form.timestamp, [[1114, 1115]]],
  [form.timestamptz, [[1184, 1185]]],
  // Texts without characters to escape: uuid, oid.
  [
    form.plain,
    [
      [2950, 2951],
      [26, 1028],
    ],
  ],
  [
    form.text,
    [
      // bytea, char, name, text, xml, bpchar, varchar
      [17, 1001],
      [18, 1002],
      [19, 1003],
      [25, 1009],
      [142, 143],
      [1042, 1014],
      [1043, 1015],
      // cidr, macaddr, macaddr8, inet
      [650, 651],
      [829, 1040],
      [774, 775],
      [869, 1041],
      // money, time, interval, timetz, bit, varbit
      [790, 791],
      [1083, 1183],
      [1186, 1187],
      [1266, 1270],
      [1560, 1561],
      [1562, 1563],
      // point, lseg, path, polygon, line, circle; box separates its elements by semicolons
      [600, 1017],
      [601, 1018],
      [602, 1019],
      [604, 1027],
      [628, 629],
      [718, 719],
      [603, 0],
      // tsvector, tsquery, jsonpath
      [3614, 3643],
      [3615, 3645],
      [4072, 4073],
      // ranges: int4, num, ts, tstz, date, int8; their multiranges
      [3904, 3905],
      [3906, 3907],
      [3908, 3909],
      [3910, 3911],
      [3912, 3913],
      [3926, 3927],
      [4451, 6150],
      [4532, 6151],
      [4533, 6152],
      [4534, 6153],
      [4535, 6155],
      [4536, 6157],
      // refcursor, tid, xid, cid, xid8, pg_lsn, pg_snapshot, txid_snapshot
      [1790, 2201],
      [27, 1010],
      [28, 1011],
      [29, 1012],
      [5069, 271],
      [3220, 3221],
      [5038, 5039],
      [2970, 2949],
      // regproc, regprocedure, regoper, regoperator, regclass, regtype, regconfig, regdictionary, regnamespace, regrole, regcollation
      [24, 1008],
      [2202, 2207],
      [2203, 2208],
      [2204, 2209],
      [2205, 2210],
      [2206, 2211],
      [3734, 3735],
      [3769, 3770],
      [4089, 4090],
      [4096, 4097],
      [4191, 4192],
    ],
  ],
]

const types = new Map<number, ColumnType>(
  builtin.flatMap(([form, pairs]) =>
    pairs.flatMap(([type, array]): (readonly [number, ColumnType])[] => [
      [type, { form, isArray: false }],
      [array, { form, isArray: true }],
    ]),
  ),
)
// Types without arrays.
types.delete(0)

/** How a value becomes JSON of which only the text is known. */
export const text: ColumnType = { form: form.text, isArray: false }
const textArray: ColumnType = { form: form.text, isArray: true }

/**
 * How a column becomes JSON; undefined for types that this module does not know: composite types, and types with a cast to JSON.
 *
 * @param own types that are not PostgreSQL's own
 */
export function columnType(oid: number, { types: own, arrays }: TextTypes): ColumnType | undefined {
  return types.get(oid) ?? (own.has(oid) ? text : arrays.has(oid) ? textArray : undefined)
}

/** Whether the server can encode a column of a table. */
export const isEncodable = ({ typeOid, name }: Pick<Column, 'typeOid' | 'name'>, types: TextTypes): boolean =>
  typeOid !== undefined && columnType(typeOid, types) !== undefined && name !== resultAlias

/** Whether the server can encode the values of a type in every session: the setting `DateStyle` is that of dates and times. */
export function isAlwaysEncodable({ typeOid }: Pick<Column, 'typeOid'>, types: TextTypes): boolean {
  const known = typeOid === undefined ? undefined : columnType(typeOid, types)
  return known !== undefined && known.form < form.date
}
