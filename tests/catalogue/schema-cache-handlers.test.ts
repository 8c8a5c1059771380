// Domain representations, media type handlers, and the JSON form of the snapshot.
import t from 'tap'
import { toJson } from '../../server/catalogue/json.ts'
import { mediaHandlerKey, mediaHandlersOf } from '../../server/catalogue/media-handler.ts'
import { summarize } from '../../server/catalogue/summary.ts'
import { createSchemaCacheDatabase, loadFrom } from '../support/schema-cache.ts'

const database = await createSchemaCacheDatabase()
t.teardown(() => database.drop())
const cache = await loadFrom(database)
const api = (name: string) => ({ schema: 'api', name })

t.test('implicit casts between domains and json or text are representations', async (t) => {
  t.strictSame(
    [...cache.representations.values()],
    [
      { sourceType: 'api.color', targetType: 'json', function: 'api.color_to_json' },
      { sourceType: 'api.color', targetType: 'text', function: 'api.color_to_text' },
      { sourceType: 'json', targetType: 'api.color', function: 'api.color' },
      { sourceType: 'text', targetType: 'api.color', function: '"Quoted ""Schema"".x"."To Color"' },
    ],
  )
})

t.test('media type handlers: built-in, overridden, for a relation, for any type, and functions', async (t) => {
  const custom = (
    name: { schema: string; name: string },
    target: { schema: string; name: string } | null,
    mime: string,
  ) => ({
    handler: { kind: 'custom', function: name, target },
    mime,
  })
  t.strictSame(
    cache.mediaHandlers,
    new Map<string, unknown>([
      [mediaHandlerKey(null, '*/*'), { handler: { kind: 'json' }, mime: 'application/json' }],
      [mediaHandlerKey(null, 'application/json'), custom(api('own_json'), null, 'application/json')],
      [mediaHandlerKey(null, 'text/csv'), { handler: { kind: 'csv' }, mime: 'text/csv' }],
      [mediaHandlerKey(null, 'application/geo+json'), { handler: { kind: 'geojson' }, mime: 'application/geo+json' }],
      // Requested in lower case, but the response has the domain's spelling.
      [
        mediaHandlerKey(null, 'application/vnd.upper+json'),
        custom(api('upper_any'), null, 'application/vnd.Upper+JSON'),
      ],
      [
        mediaHandlerKey(api('an_object'), 'application/vnd.pgrst.object+json'),
        custom(api('application/vnd.pgrst.object'), api('an_object'), 'application/vnd.pgrst.object+json'),
      ],
      [mediaHandlerKey(api('authors'), '*/*'), custom(api('any_authors'), api('authors'), 'application/octet-stream')],
      [mediaHandlerKey(api('books'), 'text/html'), custom(api('html_books'), api('books'), 'text/html')],
      [
        mediaHandlerKey(api('page'), 'text/html'),
        custom({ schema: 'public', name: 'text/html' }, api('page'), 'text/html'),
      ],
    ]),
  )
})

// [domain name, its media type]
const names: [string, string][] = [
  ['text/HTML', 'text/HTML'],
  ['Application/JSON', 'application/json'],
  ['application/vnd.pgrst.array', 'application/json'],
  ['application/vnd.pgrst.array+json', 'application/json'],
  ['application/vnd.pgrst.object', 'application/vnd.pgrst.object+json'],
  ['application/vnd.pgrst.plan', 'application/vnd.pgrst.plan+text; for="application/json"'],
  ['application/vnd.pgrst.plan+json', 'application/vnd.pgrst.plan+json; for="application/json"'],
  ['text/constructor', 'text/constructor'],
]
for (const [name, mime] of names) {
  t.test(`the domain ${name}`, async (t) => {
    const handlers = mediaHandlersOf([{ function: api('f'), target: api('t'), mediaType: name, answer: name }])
    t.equal(handlers.get(mediaHandlerKey(api('t'), mime))?.mime, mime)
  })
}

t.test('the summary counts the objects of the snapshot', async (t) => {
  const text = `${cache.tables.size} Relations, ${cache.relationships.size} Relationships, ${cache.routines.size} RPCs, 4 Domain Representations, 9 Media Type Handlers`
  t.equal(summarize(cache), text)
})

t.test('the JSON form has the names and structure of PostgREST', async (t) => {
  // Compared as text, as it is served.
  const json = JSON.parse(
    JSON.stringify(toJson(await loadFrom(database, { schemas: ['api', 'Quoted "Schema".x'] }))),
  ) as Record<string, [unknown, unknown][]>
  const entry = (map: string, key: unknown): unknown =>
    json[map]?.find(([candidate]) => JSON.stringify(candidate) === JSON.stringify(key))?.[1]
  const id = (name: string) => ({ qiName: name, qiSchema: 'api' })

  t.strictSame(Object.keys(json), ['dbMediaHandlers', 'dbRelationships', 'dbRepresentations', 'dbRoutines', 'dbTables'])
  t.strictSame(entry('dbTables', id('book_covers')), {
    tableColumns: {
      book_id: {
        colDefault: null,
        colDescription: null,
        colEnum: [],
        colMaxLen: null,
        colName: 'book_id',
        colNominalType: 'integer',
        colNullable: false,
        colType: 'integer',
      },
      image: {
        colDefault: null,
        colDescription: null,
        colEnum: [],
        colMaxLen: null,
        colName: 'image',
        colNominalType: 'bytea',
        colNullable: true,
        colType: 'bytea',
      },
    },
    tableDeletable: true,
    tableDescription: null,
    tableInsertable: true,
    tableIsView: false,
    tableName: 'book_covers',
    tablePKCols: ['book_id'],
    tableSchema: 'api',
    tableUpdatable: true,
  })
  const hostile = entry('dbTables', { qiName: 'tab(le', qiSchema: 'Quoted "Schema".x' }) as { tableColumns: object }
  t.ok(Object.hasOwn(hostile.tableColumns, '__proto__'))

  const relationships = (from: string): unknown[] => entry('dbRelationships', [id(from), 'api']) as unknown[]
  t.strictSame(relationships('shelf_labels')[0], {
    relCardinality: {
      isParent: false,
      relColumns: [
        ['hall', 'hall'],
        ['number', 'number'],
      ],
      relCons: 'shelf_of_label',
      tag: 'O2O',
    },
    relFTableIsView: false,
    relTableIsView: false,
    relForeignTable: id('shelves'),
    relIsSelf: false,
    relTable: id('shelf_labels'),
    tag: 'Relationship',
  })
  t.strictSame(relationships('shelves')[0], {
    relCardinality: {
      contents: {
        junColsSource: [
          ['hall', 'hall'],
          ['number', 'number'],
        ],
        junColsTarget: [['tag_id', 'tag_id']],
        junConstraint1: 'shelf_tags_hall_number_fkey',
        junConstraint2: 'shelf_tags_tag_id_fkey',
        junTable: id('shelf_tags'),
      },
      tag: 'M2M',
    },
    relFTableIsView: true,
    relTableIsView: false,
    relForeignTable: id('books_and_tags'),
    relIsSelf: false,
    relTable: id('shelves'),
    tag: 'Relationship',
  })
  t.match(relationships('fines')[0], { relCardinality: { tag: 'M2O' } })
  t.match(relationships('loans').at(-2), { relCardinality: { tag: 'O2M' } })
  t.strictSame(relationships('authors').at(-1), {
    relFunction: id('parent'),
    relTableAlias: { qiName: '', qiSchema: '' },
    relToOne: true,
    relForeignTable: id('authors'),
    relIsSelf: true,
    relTable: id('authors'),
    tag: 'ComputedRelationship',
  })
  t.strictSame(entry('dbRelationships', [id('books'), 'internal']), [])

  t.strictSame(entry('dbRoutines', id('variadic_strings')), [
    {
      pdDescription: null,
      pdFuncSettings: [],
      pdHasVariadic: true,
      pdIsoLvl: null,
      pdName: 'variadic_strings',
      pdParams: [
        { ppName: 'first', ppReq: true, ppType: 'integer', ppTypeMaxLength: 'integer', ppVar: false },
        { ppName: 'rest', ppReq: false, ppType: 'text[]', ppTypeMaxLength: 'text[]', ppVar: true },
      ],
      pdReturnType: {
        contents: { contents: { qiName: '_text', qiSchema: 'pg_catalog' }, tag: 'Scalar' },
        tag: 'Single',
      },
      pdSchema: 'api',
      pdVolatility: 'Volatile',
    },
  ])
  t.match(entry('dbRoutines', id('settled')), [
    {
      pdIsoLvl: 'RepeatableRead',
      pdFuncSettings: [
        ['default_transaction_isolation', 'REPEATABLE READ'],
        ['statement_timeout', '5s'],
      ],
    },
  ])
  t.match(entry('dbRoutines', id('set_of_books')), [
    { pdReturnType: { tag: 'SetOf', contents: { tag: 'Composite', contents: [id('books'), false] } } },
  ])
  t.strictSame(entry('dbRepresentations', ['json', 'api.color']), {
    drFunction: 'api.color',
    drSourceType: 'json',
    drTargetType: 'api.color',
  })
  t.strictSame(entry('dbMediaHandlers', [{ tag: 'RelAnyElement' }, { tag: 'MTAny' }]), [
    { tag: 'BuiltinOvAggJson' },
    { tag: 'MTApplicationJSON' },
  ])
  t.strictSame(
    entry('dbMediaHandlers', [
      { contents: id('books'), tag: 'RelId' },
      { contents: 'text/html', tag: 'MTOther' },
    ]),
    [
      { contents: [id('html_books'), { contents: id('books'), tag: 'RelId' }], tag: 'CustomFunc' },
      { contents: 'text/html', tag: 'MTOther' },
    ],
  )
})
