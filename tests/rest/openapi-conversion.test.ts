// PostgREST's OpenAPI 2.0 document and the tools that convert it to types: swagger2openapi, then openapi-typescript.
import { createRequire } from 'node:module'
import { Validator } from '@seriousme/openapi-schema-validator'
import openapiTS, { astToString, type OpenAPI3 } from 'openapi-typescript'
import t from 'tap'
import ts from 'typescript'
import { postgrestDocument, type DescribedSchema } from '../../server/rest/openapi/document.ts'
import { column, manyToOne, parameter, relationships, routine, table } from '../support/described-schema.ts'
import { startApplication } from '../support/application.ts'
import { createFixtureDatabase } from '../support/fixture.ts'

// The package has no types.
const { convertObj } = createRequire(import.meta.url)('swagger2openapi') as {
  convertObj: (document: object, options: object) => Promise<{ readonly openapi: OpenAPI3 }>
}

/** Converts a document to OpenAPI 3.0 and then to types; throws if a tool fails. */
async function typesOf(document: string): Promise<string> {
  const swagger = JSON.parse(document) as object
  const { openapi } = await convertObj(structuredClone(swagger), {})
  return astToString(await openapiTS(structuredClone(openapi)))
}

async function faultsOf(document: string): Promise<unknown> {
  const { valid, errors } = await new Validator().validate(JSON.parse(document) as Record<string, unknown>)
  return valid ? [] : JSON.stringify(errors)
}

const syntaxErrors = (text: string): readonly string[] =>
  ts
    .transpileModule(text, { reportDiagnostics: true })
    .diagnostics?.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n')) ?? []

const empty: DescribedSchema = {
  tables: [],
  routines: [],
  relationships: new Map(),
  schemaDescription: null,
  settings: { serverHost: '127.0.0.1', serverPort: 3000, openapiServerProxyUri: null, openapiSecurityActive: false },
  mountPath: '/rest/v1',
  version: '16.2',
  documentation: 'https://postgrest.org/en/v16/references/api.html',
}

const types = ['integer', 'bigint', 'text', 'json', 'jsonb', 'integer[]', 'text[]', 'jsonb[]', 'uuid', 'api.mood']
const keys = { primaryKey: ['id'] }
const writable = { insertable: true, updatable: true, deletable: true, ...keys }

const documents: readonly (readonly [string, Partial<DescribedSchema>])[] = [
  ['nothing', {}],
  [
    'columns of every type',
    {
      tables: [
        table(
          'all',
          types.map((type, index) => column(`c${index}`, type)),
          writable,
        ),
      ],
    },
  ],
  [
    'constants, enumerations and lengths',
    {
      tables: [
        table('t', [
          column('a', 'integer', { default: '42' }),
          column('b', 'boolean', { default: 'true' }),
          column('c', 'text', { default: `'it''s'::text` }),
          column('d', 'api.mood', { enumValues: ['happy', 'sad "1"'], default: `'happy'::api.mood` }),
          column('e', 'character varying', { maxLength: 10 }),
        ]),
      ],
    },
  ],
  ['a table without columns', { tables: [table('none', [], writable)] }],
  [
    'foreign keys',
    {
      tables: [table('wheels', [column('car_id', 'integer')]), table('cars', [column('id', 'integer')])],
      relationships: relationships(manyToOne('wheels', 'car_id', 'cars')),
    },
  ],
  ['a mounted path', { settings: { ...empty.settings, openapiServerProxyUri: 'https://example.org/api' } }],
  ['security', { settings: { ...empty.settings, openapiSecurityActive: true } }],
  // The tools fail on `__proto__`, and on references with `%`, `#` or `$`.
  ...['a b', 'a/b', 'a~b', 'a.b', 'a"b', 'a{b}', 'été', 'constructor', '1'].map(
    (name): readonly [string, Partial<DescribedSchema>] => [
      `names: ${name}`,
      {
        tables: [table(name, [column('id', 'integer', { nullable: false }), column(name, 'text')], writable)],
        routines: [routine(name, [parameter(name, 'text')], { volatility: 'stable' })],
      },
    ],
  ),
  ...types.map((type): readonly [string, Partial<DescribedSchema>] => [
    `arguments: ${type}`,
    {
      routines: [
        routine('f', [parameter('a', type), parameter('b', type, { required: false })], { volatility: 'stable' }),
      ],
    },
  ]),
  [
    'a variadic argument',
    { routines: [routine('f', [parameter('rest', 'integer[]', { variadic: true })], { volatility: 'stable' })] },
  ],
  ['an unnamed argument', { routines: [routine('f', [parameter('', 'json')], { volatility: 'stable' })] }],
]

t.test('each part of a document converts', async (t) => {
  for (const [what, more] of documents) {
    const document = postgrestDocument({ ...empty, ...more })
    t.strictSame(await faultsOf(document), [], `${what}: valid`)
    try {
      t.strictSame(syntaxErrors(await typesOf(document)), [], `${what}: converts`)
    } catch (error) {
      t.fail(`${what}: ${(error as Error).message}`)
    }
  }
})

t.test('the documents of whole databases convert', async (t) => {
  for (const [fixture, schemas] of [
    ['schema-cache', ['api', 'extra']],
    ['reads', ['garage', 'depot', 'tools']],
  ] as const) {
    const database = await createFixtureDatabase(fixture)
    t.teardown(() => database.drop())
    if (fixture === 'reads') await database.query('drop table garage."__proto__"')
    const { call } = await startApplication(t, database.adminUri, {
      PGRST_DB_SCHEMAS: schemas.join(','),
      PGRST_DB_ANON_ROLE: 'postgres',
      PGRST_OPENAPI_MODE: 'ignore-privileges',
    })
    for (const schema of schemas) {
      const { text } = await call('GET', '/rest/v1/', { headers: { 'Accept-Profile': schema } })
      t.strictSame(await faultsOf(text), [], `${fixture}, ${schema}: valid`)
      t.strictSame(syntaxErrors(await typesOf(text)), [], `${fixture}, ${schema}: converts`)
    }
  }
})
