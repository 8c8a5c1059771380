// TypeScript types of JSON Schemas, and their source.
import t from 'tap'
import { jsonSchemaTypes } from '../../../server/tools/types/json-schema-type.ts'
import { render } from '../../../server/tools/types/layout.ts'
import {
  arrayOf,
  inlineObject,
  openObject,
  orNull,
  property,
  quoted,
  typeLayout,
  union,
  type Type,
} from '../../../server/tools/types/source.ts'

type Schema = Readonly<Record<string, unknown>>

const wide = 1000
const typeOf = (schema: unknown, document: Schema = {}): string =>
  render(typeLayout(union(jsonSchemaTypes(schema, document))), wide)

const anyObject = '{ [key: string]: Json | undefined }'
const closed = { type: 'object', additionalProperties: false } as const

t.test('values', async (t) => {
  const table: [unknown, string][] = [
    [true, 'Json'],
    [{}, 'Json'],
    [null, 'Json'],
    [false, 'never'],
    [{ type: 'string', minLength: 1 }, 'string'],
    [{ type: 'integer' }, 'number'],
    [{ type: ['integer', 'number', 'null', 'boolean'] }, 'null | boolean | number'],
    [{ const: 'a' }, '"a"'],
    [{ const: null }, 'null'],
    [{ enum: ['a', 1, true, null, 'a'] }, '"a" | 1 | true | null'],
    [{ enum: ['a', 1, null], type: ['string', 'null'] }, '"a" | null'],
    [{ const: { a: [1, 'b'], c: {} } }, '{ a: [1, "b"]; c: { [key: string]: never } }'],
    [{ enum: [] }, 'never'],
    [{ type: 'integer', enum: Array.from({ length: 300 }, (_, index) => index) }, 'number'],
    [{ minLength: 1 }, 'Json'],
    [{ type: 'string', not: { const: 'a' } }, 'string'],
    [{ type: 'string', if: { const: 'a' }, then: false }, 'string'],
  ]
  for (const [schema, expected] of table) t.equal(typeOf(schema), expected, JSON.stringify(schema).slice(0, 100))
})

t.test('arrays', async (t) => {
  const table: [Schema, string][] = [
    [{}, 'Json[]'],
    [{ items: { type: 'string' } }, 'string[]'],
    [{ items: { type: ['string', 'null'] } }, '(null | string)[]'],
    [{ items: false }, '[]'],
    [{ prefixItems: [{ type: 'string' }, { type: 'number' }], items: false, minItems: 2 }, '[string, number]'],
    [{ prefixItems: [{ type: 'string' }, { enum: [1, 2] }], items: false, minItems: 1 }, '[string, (1 | 2)?]'],
    [{ prefixItems: [{ type: 'string' }], minItems: 1 }, '[string, ...Json[]]'],
    [{ prefixItems: [{ type: 'string' }], items: { type: 'number' } }, '[string?, ...number[]]'],
  ]
  for (const [schema, expected] of table) t.equal(typeOf({ type: 'array', ...schema }), expected, expected)
})

t.test('objects', async (t) => {
  const a = { a: { type: 'string' } }
  const table: [Schema, string][] = [
    [{ type: 'object' }, anyObject],
    [closed, '{ [key: string]: never }'],
    [{ ...closed, properties: a }, '{ a?: string }'],
    [{ ...closed, properties: { ...a, 'b c': true }, required: ['b c'] }, '{ a?: string; "b c": Json }'],
    [{ type: 'object', properties: a, required: ['a'] }, '{ a: string; [key: string]: Json | undefined }'],
    [{ type: 'object', required: ['b'] }, '{ b: Json; [key: string]: Json | undefined }'],
    [{ type: 'object', additionalProperties: { type: 'number' } }, '{ [key: string]: number | undefined }'],
    [
      { type: 'object', properties: a, additionalProperties: { type: 'number' } },
      '{ a?: string; [key: string]: number | string | undefined }',
    ],
    [
      { ...closed, properties: a, patternProperties: { '^x-': { type: 'boolean' } } },
      '{ a?: string; [key: string]: boolean | string | undefined }',
    ],
    [{ type: 'object', properties: a, unevaluatedProperties: false }, '{ a?: string }'],
    [
      { type: 'object', properties: a, unevaluatedProperties: false, if: {}, then: { properties: { b: true } } },
      '{ a?: string; [key: string]: Json | undefined }',
    ],
    [{ properties: a }, 'Json'],
  ]
  for (const [schema, expected] of table) t.equal(typeOf(schema), expected, JSON.stringify(schema))
})

t.test('combinations', async (t) => {
  const table: [Schema, string][] = [
    [{ oneOf: [{ type: 'string' }, { type: 'number' }] }, 'string | number'],
    [{ anyOf: [{ type: 'string' }, { type: 'string', minLength: 2 }] }, 'string'],
    [{ anyOf: [{ type: 'string' }, {}] }, 'Json'],
    [{ type: 'string', anyOf: [{ minLength: 3 }, { const: 'a' }] }, 'string | "a"'],
    [{ type: ['string', 'null'], oneOf: [{ type: 'null' }, { type: 'number' }] }, 'null'],
    [{ allOf: [{ type: 'number' }, { type: 'integer' }] }, 'number'],
    [{ allOf: [{ type: 'number' }, { type: 'string' }] }, 'never'],
    [{ allOf: [{ enum: ['a', 'b'] }, { enum: ['b', 'c'] }] }, '"b"'],
    [{ allOf: [{ type: 'string' }, false] }, 'never'],
    [
      {
        ...closed,
        properties: { kind: { enum: ['a', 'b'] }, size: { type: 'number' } },
        required: ['kind'],
        oneOf: [{ properties: { kind: { const: 'a' } }, required: ['size'] }, { properties: { kind: { const: 'b' } } }],
      },
      '{ kind: "a"; size: number } | { kind: "b"; size?: number }',
    ],
    [{ allOf: [{ ...closed, properties: { a: { type: 'string' } } }, { required: ['a'] }] }, '{ a: string }'],
    [
      {
        allOf: [
          { oneOf: [{ type: 'string' }, { type: 'number' }] },
          { oneOf: [{ const: 'a' }, { const: 1 }, { const: true }] },
          { anyOf: [{ const: 'a' }, { const: 2 }] },
        ],
      },
      '"a" | 1',
    ],
  ]
  for (const [schema, expected] of table) t.equal(typeOf(schema), expected, JSON.stringify(schema))
})

t.test('references', async (t) => {
  const document = {
    $defs: {
      name: { type: 'string' },
      'a/b~c': { const: 1 },
      indirect: { $ref: '#/$defs/name' },
      tree: { ...closed, properties: { leaf: { $ref: '#/$defs/name' }, next: { $ref: '#/$defs/tree' } } },
      itself: { $ref: '#/$defs/itself' },
      part: { allOf: [{ $ref: '#/$defs/part' }, { type: 'string' }] },
      deep: {
        ...closed,
        properties: { x: { allOf: [{ $ref: '#/$defs/deep' }] }, y: { oneOf: [{ $ref: '#/$defs/deep' }] } },
      },
      list: { type: 'array', items: { $ref: '#/$defs/list' } },
    },
  }
  const table: [string, string][] = [
    ['#/$defs/name', 'string'],
    ['#/$defs/a~1b~0c', '1'],
    ['#/$defs/indirect', 'string'],
    ['#/$defs/tree', '{ leaf?: string; next?: Json }'],
    ['#/$defs/itself', 'Json'],
    ['#/$defs/part', 'string'],
    ['#/$defs/deep', '{ x?: Json; y?: Json }'],
    ['#/$defs/list', 'Json[]'],
    ['#/$defs/unknown', 'Json'],
    ['#/$defs/name/type/0', 'Json'],
    ['#', 'Json'],
    ['urn:other', 'Json'],
    ['#anchor', 'Json'],
  ]
  for (const [reference, expected] of table) t.equal(typeOf({ $ref: reference }, document), expected, reference)
  t.equal(typeOf({ $ref: '#/$defs/name', enum: ['a', 1] }, document), '"a"', 'a reference has siblings')
})

t.test('literals and names', async (t) => {
  const table: [string, string][] = [
    ['plain', '"plain"'],
    ["it's", `"it's"`],
    ['"', `'"'`],
    [`"'`, `"\\"'"`],
    [`""'`, `'""\\''`],
    ['\\"', `'\\\\"'`],
    ['\n\u0000', '"\\n\\u0000"'],
  ]
  for (const [text, expected] of table) t.equal(quoted(text), expected, text)
  const names: [string, string][] = [
    ['a1_$', 'a1_$: string'],
    ['größe', 'größe: string'],
    ['1a', '"1a": string'],
    ['a-b', '"a-b": string'],
    ['', '"": string'],
    ['𝒳', '"𝒳": string'],
    ['a\nb', '"a\\nb": string'],
  ]
  for (const [name, expected] of names) {
    t.equal(render(typeLayout(inlineObject([property(name, 'string')]))), `{ ${expected} }`, name)
  }
})

t.test('lines of at most 80 characters', async (t) => {
  const long = 'x'.repeat(30)
  const printed = (type: Type): string[] =>
    render(['type T = ', typeLayout(openObject([property('a', type)]))])
      .split('\n')
      .slice(1, -1)
  const three = union([long, `${long}y`, 'null'])
  const table: [Type, string[]][] = [
    [orNull('unknown'), ['  a: unknown']],
    [union([]), ['  a: never']],
    [openObject([]), ['  a: {}']],
    [three, ['  a: ' + `${long} | ${long}y | null`]],
    [union([long, `${long}y`, long]), ['  a:', `    | ${long}`, `    | ${long}y`, `    | ${long}`]],
    [arrayOf(union([long, `${long}y`, long])), ['  a: (', `    | ${long}`, `    | ${long}y`, `    | ${long}`, '  )[]']],
    [orNull(inlineObject([property('b', 'c')])), ['  a: { b: c } | null']],
    [orNull(openObject([property('b', 'c')])), ['  a: {', '    b: c', '  } | null']],
    [
      union([openObject([property('b', 'c')]), inlineObject([property('d', long)])]),
      ['  a:', '    | {', '        b: c', '      }', `    | { d: ${long} }`],
    ],
    [
      inlineObject([property('b', long), property(long, long)]),
      ['  a: {', `    b: ${long}`, `    ${long}: ${long}`, '  }'],
    ],
  ]
  for (const [type, expected] of table) t.strictSame(printed(type), expected, expected.join(' '))
})
