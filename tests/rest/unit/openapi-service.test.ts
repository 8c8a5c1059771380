import t from 'tap'
import { validate } from '@hyperjump/json-schema/openapi-3-1'
import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { serviceDocument, type DescribedService } from '../../../server/services/openapi/document.ts'
import type { JsonSchema } from '../../../server/http/json-schema.ts'
import { describedRoutes } from '../../../server/running/service-routes.ts'
import { analysisRoutes } from '../../../server/services/analysis/analysis-routes.ts'
import type { ServiceRoute } from '../../../server/http/service-route.ts'
import type { Routine } from '../../../server/catalogue/routine.ts'
import type { Column, Table } from '../../../server/catalogue/table.ts'
import { readSchemas } from '../../../server/validation/schema-directory.ts'
import { ownSchemas } from '../../../server/validation/validator.ts'
import { column, manyToOne, parameter, relationships, routine, table } from '../../support/described-schema.ts'
import { tables } from '../../support/service-routes.ts'

type Json = Readonly<Record<string, unknown>>

const schemas: readonly JsonSchema[] = (await readSchemas(ownSchemas)).map(({ schema }) => schema)

const service: DescribedService = {
  tables: [],
  routines: [],
  relationships: new Map(),
  schemas,
  exposedSchemas: ['api'],
  restBasePath: '/rest/v1',
  anonymous: false,
  version: '1.2.3',
  operations: [...describedRoutes(tables), ...analysisRoutes('/api/v1/water-hyacinth')],
}

/** The document as clients get it. */
const document = (input: Partial<DescribedService> = {}): Json =>
  JSON.parse(JSON.stringify(serviceDocument({ ...service, ...input }))) as Json

/** A route whose response has one of these schemas. */
const routeWith = (...ids: readonly unknown[]): ServiceRoute => ({
  method: 'get',
  path: '/things',
  id: 'listThings',
  tag: 'things',
  summary: 'List things',
  security: [],
  responses: { 200: { description: 'Things.', schema: { anyOf: ids.map(($ref) => ({ $ref })) } } },
})

/** The value at a path of names. */
const at = (json: unknown, ...names: readonly string[]): unknown =>
  names.reduce<unknown>((value, name) => (value as Json | undefined)?.[name], json)

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null

/** Every `$ref` of the document without a target. */
function danglingReferences(root: Json): string[] {
  const dangling: string[] = []
  const visit = (value: unknown): void => {
    if (!isObject(value)) return
    for (const [key, member] of Object.entries(value)) {
      if (key !== '$ref' || typeof member !== 'string') visit(member)
      else if (!member.startsWith('#/') || at(root, ...member.slice(2).split('/')) === undefined) dangling.push(member)
    }
  }
  visit(root)
  return dangling
}

const operations = (root: Json): Json[] =>
  Object.values(root.paths as Json).flatMap((item) =>
    Object.entries(item as Json)
      .filter(([method]) => method !== 'parameters')
      .map(([, operation]) => operation as Json),
  )

/** Errors of a document: by OpenAPI's published schema, and by rules that the schema cannot express. */
async function faults(root: Json): Promise<unknown[]> {
  const official = await validate('https://spec.openapis.org/oas/3.1/schema-base', root as never, 'BASIC')
  const { valid, errors } = await new Validator().validate(structuredClone(root))
  const ids = operations(root).map(({ operationId }) => operationId)
  return [
    ...(official.valid ? [] : (official.errors ?? ['invalid'])),
    ...(valid ? [] : [errors]),
    ...danglingReferences(root),
    ...ids.filter((id, index) => ids.indexOf(id) !== index),
    ...operations(root).filter(({ responses }) => Object.keys((responses as Json | undefined) ?? {}).length === 0),
    ...operations(root).flatMap(repeatedParameters(root)),
  ]
}

const repeatedParameters =
  (root: Json) =>
  (operation: Json): string[] => {
    const keys = ((operation.parameters as Json[] | undefined) ?? []).map((it) => {
      const found = typeof it.$ref === 'string' ? (at(root, ...it.$ref.slice(2).split('/')) as Json) : it
      return `${String(operation.operationId)} ${String(found.in)} ${String(found.name)}`
    })
    return keys.filter((key, index) => keys.indexOf(key) !== index)
  }

const runs = table(
  'classification_runs',
  [
    column('id', 'uuid', { nullable: false, default: 'gen_random_uuid()' }),
    column('user_id', 'uuid', { nullable: false, default: 'auth.uid()' }),
    column('image_uri', 'text', { nullable: false }),
    column('confidence', 'numeric', { nullable: false }),
  ],
  { schema: 'public', primaryKey: ['id'], description: 'Runs of the classifier\n\nOne for each image.' },
)

const garage: Partial<DescribedService> = {
  relationships: relationships(manyToOne('wheels', 'car_id', 'cars')),
  tables: [
    runs,
    table('cars', [column('plate', 'text', { nullable: false })], { primaryKey: ['plate'] }),
    table(
      'wheels',
      [
        column('car_id', 'bigint', { nullable: false, description: 'which car' }),
        column('place', 'api.place', { nullable: false, enumValues: ['left', 'right'] }),
        column('label', 'character varying', { maxLength: 20, default: `'it''s'::character varying` }),
      ],
      { primaryKey: ['car_id', 'place'] },
    ),
    table('totals', [column('sum', 'bigint')], { isView: true, insertable: false, updatable: false, deletable: false }),
  ],
  routines: [
    routine('paint', [parameter('colour', 'text'), parameter('coats', 'integer', { required: false })], {
      description: 'Paint a car\n\nas often as wanted',
      returns: { setOf: true, composite: true, compositeAlias: false, type: { schema: 'api', name: 'cars' } },
    }),
    routine('now', [], { volatility: 'stable' }),
  ],
}

t.test('the document is valid OpenAPI 3.1', async (t) => {
  const odd = [
    '__proto__',
    'constructor',
    'a b',
    '{id}',
    'select',
    '..',
    'é/😀',
    '%2F',
    '-',
    '',
    'x?y#z',
    'rpc',
    'order',
  ]
  const oddColumns = odd.map((name) => column(name, `api."${name}"`, { description: `<script>${name}` }))
  const rows: readonly (readonly [string, Partial<DescribedService>])[] = [
    ['an empty database', {}],
    ['tables and functions', garage],
    [
      'several schemas, anyone, at the root',
      { ...garage, exposedSchemas: ['api', 'b'], anonymous: true, restBasePath: '/' },
    ],
    ['image analysis at the root', { ...garage, operations: [...describedRoutes(tables), ...analysisRoutes('/')] }],
    ['another address', { ...garage, serverUrl: 'https://garage.example/api' }],
    [
      'odd names',
      {
        tables: odd.map((name) => table(name, oddColumns, { primaryKey: ['a b'], description: '\n' })),
        routines: odd.map((name) =>
          routine(
            name,
            odd.map((it) => parameter(it, 'text')),
            { volatility: 'stable', description: '\n' },
          ),
        ),
      },
    ],
    [
      'names that are prefixes of other names',
      {
        tables: ['a', 'a.b', 'a-2e-b', 'a.insert'].map((name) =>
          table(name, [column('b.c', 'text'), column('c', 'text')]),
        ),
      },
    ],
  ]
  for (const [name, input] of rows) t.strictSame(await faults(document(input)), [], name)
})

t.test('the validation detects errors of a document', async (t) => {
  const route = service.operations.find(({ id }) => id === 'signOut')
  if (!route) throw new Error('no route')
  const valid = document()
  const components = valid.components as Json
  const wrong: readonly (readonly [string, Json])[] = [
    ['no version', { ...valid, info: { title: 'x' } }],
    ['a reference to nowhere', { ...valid, paths: { '/x': { $ref: '#/components/pathItems/x' } } }],
    [
      'a schema that is none',
      { ...valid, components: { ...components, schemas: { ...(components.schemas as Json), x: { type: 'int' } } } },
    ],
    ['an operation of the same name', document({ operations: [...service.operations, { ...route, path: '/again' }] })],
  ]
  for (const [name, root] of wrong) t.not((await faults(root)).length, 0, name)
})

t.test('every component schema compiles', async (t) => {
  const root = document(garage)
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  ajv.addSchema({ $id: 'https://example.com/document', components: root.components })
  for (const name of Object.keys(at(root, 'components', 'schemas') as Json)) {
    t.type(ajv.getSchema(`https://example.com/document#/components/schemas/${name}`), 'function', name)
  }
})

t.test('methods and paths of relations', async (t) => {
  const { paths } = document(garage)
  const methods = Object.fromEntries(
    Object.entries(paths as Json).map(([path, item]) => [path, Object.keys(item as Json)]),
  )
  t.match(methods, {
    '/rest/v1/': ['get'],
    '/rest/v1/classification_runs': ['get', 'post', 'put', 'patch', 'delete'],
    '/rest/v1/classification_runs/{id}': ['parameters', 'get', 'patch', 'delete'],
    '/rest/v1/wheels': ['get', 'post', 'put', 'patch', 'delete'],
    '/rest/v1/totals': ['get'],
    '/rest/v1/rpc/paint': ['post'],
    '/rest/v1/rpc/now': ['get', 'post'],
  })
  t.notOk('/rest/v1/wheels/{id}' in methods, 'a composite key has no path')
  t.notOk('/rest/v1/totals/{id}' in methods)
  t.strictSame(at(paths, '/rest/v1/classification_runs/{id}', 'parameters', '0', 'schema'), {
    type: 'string',
    format: 'uuid',
  })
  t.strictSame(Object.keys(document({ ...garage, restBasePath: '/' }).paths as Json).slice(-4), [
    ...['/wheels', '/totals', '/rpc/paint', '/rpc/now'],
  ])
})

t.test("a relation's methods depend on what it supports", async (t) => {
  const none = { insertable: false, updatable: false, deletable: false, primaryKey: ['id'] }
  const rows: readonly (readonly [Partial<Table>, readonly string[], readonly string[]])[] = [
    [{}, ['get'], ['get']],
    [{ insertable: true }, ['get', 'post'], ['get']],
    [{ updatable: true }, ['get', 'patch'], ['get', 'patch']],
    [{ deletable: true }, ['get', 'delete'], ['get', 'delete']],
    [{ insertable: true, updatable: true }, ['get', 'post', 'put', 'patch'], ['get', 'patch']],
  ]
  for (const [more, expected, expectedOne] of rows) {
    const { paths } = document({ tables: [table('t', [column('id', 'integer')], { ...none, ...more })] })
    t.strictSame(Object.keys(at(paths, '/rest/v1/t') as Json), expected)
    t.strictSame(Object.keys(at(paths, '/rest/v1/t/{id}') as Json), ['parameters', ...expectedOne])
  }
})

t.test('request bodies have the JSON Schemas that validate them', async (t) => {
  const root = document(garage)
  const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })
  const body = (path: string, method: string) =>
    at(root.paths, path, method, 'requestBody', 'content', 'application/json', 'schema')
  const checked = '/rest/v1/classification_runs'
  t.strictSame(body(checked, 'post'), {
    anyOf: [ref('ClassificationRunInput'), { type: 'array', items: ref('ClassificationRunInput') }],
  })
  t.strictSame(body(checked, 'patch'), ref('ClassificationRunInput.update'))
  t.strictSame(body(`${checked}/{id}`, 'patch'), ref('ClassificationRunInput.update'))
  t.strictSame(body('/rest/v1/wheels', 'put'), ref('tables.wheels.insert'))
  t.strictSame(body('/rest/v1/wheels', 'patch'), ref('tables.wheels.update'))
  t.strictSame(body('/auth/signup', 'post'), ref('SignUpDto'))
  t.strictSame(body('/report', 'post'), ref('CreateReportDto'))

  const components = at(root, 'components', 'schemas') as Readonly<Record<string, Json>>
  const own = schemas.find(({ $id }) => $id === 'urn:rowhouse:ClassificationRunInput') ?? {}
  const { $id, $schema, ...rest } = own
  t.ok($id !== undefined && $schema !== undefined)
  t.strictSame(components.ClassificationRunInput, rest)
  t.notOk('required' in (components['ClassificationRunInput.update'] ?? {}), 'updates require no properties')
  t.strictSame(components['ClassificationRunInput.update']?.properties, own.properties)
})

t.test('components are those that the paths refer to', async (t) => {
  const named = (root: Json, kind: string): readonly string[] =>
    Object.keys((at(root, 'components', kind) as Json | undefined) ?? {})
  const all = document({ operations: [routeWith(...schemas.map(({ $id }) => $id))] })
  for (const { $id } of schemas) {
    t.ok(named(all, 'schemas').includes(String($id).slice('urn:rowhouse:'.length)), String($id))
  }
  const hidden = { $id: 'urn:x:HiddenInput', 'x-table': 'api.hidden', type: 'object' }
  const none = document({ operations: [], schemas: [...schemas, hidden] })
  t.strictSame(named(none, 'schemas'), ['RestError'], 'not the schemas of tables and services that are not shown')
  t.strictSame(named(none, 'securitySchemes'), ['apiKey', 'bearer', 'session'])
  t.notOk(named(none, 'parameters').includes('limit'))
  const one = document({ operations: [routeWith('urn:rowhouse:ReportDto')] })
  t.notOk(named(one, 'schemas').includes('SignInDto'))
  t.strictSame(await faults(one), [], 'what components refer to is there')
})

t.test('rows of relations', async (t) => {
  const components = at(document(garage), 'components', 'schemas') as Readonly<Record<string, Json>>
  t.strictSame(components['tables.wheels'], {
    title: 'wheels',
    type: 'object',
    properties: {
      car_id: {
        type: 'integer',
        format: 'int64',
        description: 'which car\n\nPrimary key.\n\nForeign key to `cars.id`.',
      },
      place: { type: 'string', enum: ['left', 'right'], description: 'Primary key.' },
      label: { type: ['string', 'null'], maxLength: 20, default: `it's` },
    },
    required: ['car_id', 'place'],
  })
  t.strictSame(components['tables.wheels.insert']?.required, ['car_id', 'place'])
  t.strictSame(components['tables.wheels.insert']?.additionalProperties, false)
  t.notOk('required' in (components['tables.wheels.update'] ?? {}))
  const label = { type: ['string', 'null'], maxLength: 20, description: "By default `'it''s'::character varying`." }
  for (const name of ['tables.wheels.insert', 'tables.wheels.update']) {
    t.strictSame(at(components, name, 'properties', 'label'), label, 'bodies need no property with a default')
  }
  t.notOk('tables.classification_runs.insert' in components, 'the JSON Schema replaces it')
})

const property = (it: Column): unknown =>
  at(document({ tables: [table('t', [it])] }), 'components', 'schemas', 'tables.t', 'properties', it.name)

t.test('columns', async (t) => {
  const rows: readonly (readonly [string, Partial<Column>, JsonSchema])[] = [
    ['smallint', {}, { type: 'integer', format: 'int16' }],
    ['integer', { default: '42' }, { type: 'integer', format: 'int32', default: 42 }],
    ['integer', { default: `'-5'::integer` }, { type: 'integer', format: 'int32', default: -5 }],
    [
      'bigint',
      { default: '9223372036854775807' },
      { type: 'integer', format: 'int64', description: 'By default `9223372036854775807`.' },
    ],
    ['numeric', { default: '1.5' }, { type: 'number', default: 1.5 }],
    ['numeric(10,2)', {}, { type: 'number' }],
    ['double precision', {}, { type: 'number', format: 'double' }],
    ['boolean', { default: 'false' }, { type: 'boolean', default: false }],
    ['text', { nullable: true }, { type: ['string', 'null'] }],
    ['text', { default: `''::text` }, { type: 'string', default: '' }],
    ['text', { default: 'now()' }, { type: 'string', description: 'By default `now()`.' }],
    ['extensions.citext', {}, { type: 'string' }],
    ['uuid', {}, { type: 'string', format: 'uuid' }],
    ['date', {}, { type: 'string', format: 'date' }],
    ['timestamp with time zone', {}, { type: 'string', format: 'date-time' }],
    ['timestamp without time zone', {}, { type: 'string' }],
    ['json', { nullable: true }, {}],
    ['jsonb', { default: `'{}'::jsonb` }, { description: `By default \`'{}'::jsonb\`.` }],
    ['api.address', {}, {}],
    ['constructor', {}, {}],
    ['integer[]', {}, { type: 'array', items: { type: 'integer', format: 'int32' } }],
    ['text[]', { nullable: true }, { type: ['array', 'null'], items: { type: 'string' } }],
    ['api.mood', { enumValues: ['ok'], nullable: true }, { type: ['string', 'null'], enum: ['ok', null] }],
    ['character', { maxLength: 3 }, { type: 'string', maxLength: 3 }],
    ['bit', { maxLength: 5 }, { type: 'string', maxLength: 5 }],
  ]
  for (const [type, more, expected] of rows) {
    t.strictSame(property(column('c', type, { nullable: false, ...more })), expected, type)
  }
})

const operation = (method: string, ...routines: readonly Routine[]): unknown =>
  at(document({ tables: garage.tables ?? [], routines }).paths, '/rest/v1/rpc/f', method)

t.test('the image analysis has the schemas of the original service', async (t) => {
  const root = document()
  const prefix = '/api/v1/water-hyacinth'
  const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })
  const answer = (path: string, method: string, status = '200') =>
    at(root.paths, `${prefix}${path}`, method, 'responses', status, 'content', 'application/json', 'schema')
  t.strictSame(answer('/predict', 'post'), ref('PredictionResponse'))
  t.strictSame(answer('/v1/predict', 'post'), ref('PredictionSchema'))
  t.strictSame(answer('/health', 'get'), ref('HealthResponse'))
  t.strictSame(answer('/predict', 'post', '422'), ref('HTTPValidationError'))
  t.strictSame(at(answer('/predict/batch', 'post'), 'items', 'anyOf', '0'), ref('BatchPredictionItem'))
  t.strictSame(
    at(root, 'components', 'schemas', 'HTTPValidationError', 'properties', 'detail', 'items'),
    ref('ValidationError'),
  )
  t.strictSame(
    at(root, 'components', 'schemas', 'PredictionResponse', 'properties', 'boxes', 'items'),
    ref('BoundingBox'),
  )
  const media = (path: string) =>
    Object.keys(at(root.paths, `${prefix}${path}`, 'post', 'requestBody', 'content') as Json)
  t.strictSame(media('/predict'), [
    ...['multipart/form-data', 'application/json', 'image/jpeg', 'image/png', 'image/webp'],
  ])
  t.strictSame(media('/predict/batch'), ['multipart/form-data'])
  t.strictSame(at(root.paths, `${prefix}/predict`, 'post', 'security'), [
    ...[{ bearer: [] }, { apiKey: [] }, { session: [] }, {}],
  ])
})

t.test('arguments of functions', async (t) => {
  const stable = { volatility: 'stable' } as const
  const query = (...routines: readonly Routine[]) =>
    (at(operation('get', ...routines), 'parameters') as Json[] | undefined)?.filter(({ $ref }) => $ref === undefined)
  t.strictSame(
    query(
      routine(
        'f',
        [
          parameter('a', 'integer'),
          parameter('b', 'jsonb', { required: false }),
          parameter('c', 'text[]'),
          parameter('limit', 'integer'),
          parameter('rest', 'integer[]', { variadic: true }),
        ],
        stable,
      ),
    ),
    [
      { name: 'a', in: 'query', required: true, schema: { type: 'integer', format: 'int32' } },
      { name: 'b', in: 'query', schema: { type: 'string', description: '`jsonb`' } },
      { name: 'c', in: 'query', required: true, schema: { type: 'string', description: '`text[]`' } },
      { name: 'rest', in: 'query', required: true, schema: { type: 'array', items: { type: 'string' } } },
    ],
  )
  t.strictSame(
    query(
      routine('f', [parameter('a', 'text')], stable),
      routine('f', [parameter('a', 'text'), parameter('b', 'text')], stable),
    ),
    [
      { name: 'a', in: 'query', required: true, schema: { type: 'string' } },
      { name: 'b', in: 'query', schema: { type: 'string' } },
    ],
    'overloads are merged',
  )
  t.equal(query(routine('f')), undefined, 'functions that may write have no GET')
  t.equal(query(routine('f', [parameter('', 'json')], stable)), undefined, 'an unnamed argument is the body')

  const body = (...routines: readonly Routine[]) => at(operation('post', ...routines), 'requestBody', 'content')
  const object = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] }
  t.strictSame(body(routine('f', [parameter('a', 'text')])), { 'application/json': { schema: object } })
  t.strictSame(body(routine('f', [parameter('', 'bytea')])), {
    'application/octet-stream': { schema: { type: 'string' } },
  })
  t.strictSame(body(routine('f', [parameter('', 'jsonb')])), { 'application/json': { schema: {} } })
  t.strictSame(body(routine('f'), routine('f', [parameter('a', 'text')])), {
    'application/json': { schema: { anyOf: [{ type: 'object', properties: {} }, object] } },
  })
})

t.test('results of functions', async (t) => {
  const returning = (schema: string, name: string, setOf = false, composite = false) =>
    operation(
      'post',
      routine('f', [], { returns: { setOf, composite, compositeAlias: false, type: { schema, name } } }),
    )
  const result = (json: unknown) => at(json, 'responses', '200', 'content', 'application/json', 'schema')
  const wheels = { $ref: '#/components/schemas/tables.wheels' }
  t.strictSame(result(returning('pg_catalog', 'int4')), { type: 'integer', format: 'int32' })
  t.strictSame(result(returning('pg_catalog', '_text')), { type: 'array', items: { type: 'string' } })
  t.strictSame(result(returning('pg_catalog', 'jsonb')), {})
  t.strictSame(result(returning('api', 'text')), {}, 'a type with the same name in another schema')
  t.strictSame(result(returning('api', 'wheels', false, true)), wheels)
  t.strictSame(result(returning('api', 'wheels', true, true)), { type: 'array', items: wheels })
  t.strictSame(result(returning('other', 'wheels', true, true)), {
    type: 'array',
    items: { type: 'object', additionalProperties: true },
  })
  t.strictSame(Object.keys(at(returning('pg_catalog', 'void'), 'responses') as Json), [
    ...['204', '400', '401', '403', '429', 'default'],
  ])
})

t.test('credentials', async (t) => {
  /** The security of an operation, or else of the document. */
  const security = (input: Partial<DescribedService>, path: string, method = 'get') => {
    const root = document({ ...garage, ...input })
    return at(root.paths, path, method, 'security') ?? root.security
  }
  const some = [{ apiKey: [] }, { bearer: [] }]
  t.strictSame(security({}, '/rest/v1/cars'), some)
  t.strictSame(security({}, '/rest/v1/rpc/now'), some)
  t.strictSame(security({ anonymous: true }, '/rest/v1/cars'), [...some, {}])
  t.strictSame(security({}, '/report', 'post'), [{ session: [] }])
  t.strictSame(security({ anonymous: true }, '/report', 'post'), [{ session: [] }])
  t.strictSame(security({}, '/auth/signin', 'post'), [])
  t.strictSame(Object.keys(at(document(), 'components', 'securitySchemes') as Json), ['apiKey', 'bearer', 'session'])
  t.match(at(document(garage), 'components', 'parameters', 'limit'), { example: 20, schema: { default: undefined } })
})

t.test('a header selects one of several schemas', async (t) => {
  const names = (exposedSchemas: readonly string[], method: string) =>
    (at(document({ ...garage, exposedSchemas }).paths, '/rest/v1/cars', method, 'parameters') as Json[])
      .map(({ $ref }) => String($ref).split('/').at(-1))
      .filter((name) => name?.endsWith('Profile'))
  t.strictSame(names(['api'], 'get'), [])
  t.strictSame(names(['api', 'b'], 'get'), ['acceptProfile'])
  t.strictSame(names(['api', 'b'], 'patch'), ['contentProfile'])
  t.strictSame(
    at(document({ ...garage, exposedSchemas: ['api', 'b'] }), 'components', 'parameters', 'acceptProfile', 'schema'),
    {
      type: 'string',
      enum: ['api', 'b'],
      default: 'api',
    },
  )
})

t.test("the service's routes take precedence over tables with the same path", async (t) => {
  const { paths } = document({ restBasePath: '/', tables: [table('report', [column('id', 'uuid')])] })
  t.equal(at(paths, '/report', 'post', 'operationId'), 'createReport')
  t.equal(at(paths, '/report', 'get', 'operationId'), 'listReports')
  t.equal(at(paths, '/report', 'patch', 'operationId'), 'report.update')
})

t.test('routes are described by data', async (t) => {
  const route: ServiceRoute = {
    method: 'patch',
    path: '/things/{id}',
    id: 'changeThing',
    tag: 'things',
    summary: 'Change a thing',
    description: 'Or not.',
    security: ['session', 'bearer'],
    parameters: [
      { name: 'id', in: 'path', description: 'Which.', schema: { type: 'string' } },
      { name: 'dry', in: 'query', description: 'Try.', schema: { $ref: 'urn:rowhouse:SignUpDto#/properties/email' } },
    ],
    body: { type: 'array', items: { $ref: 'urn:rowhouse:SignInDto' } },
    responses: {
      200: { description: 'Done.', schema: { $ref: '#/components/schemas/ReportDto' }, headers: { ETag: 'Version.' } },
      204: { description: 'Nothing to do.' },
    },
  }
  const root = document({ operations: [route] })
  t.strictSame(await faults(root), [])
  t.strictSame(at(root, 'paths', '/things/{id}', 'patch'), {
    operationId: 'changeThing',
    tags: ['things'],
    summary: 'Change a thing',
    description: 'Or not.',
    security: [{ session: [] }, { bearer: [] }],
    parameters: [
      { name: 'id', in: 'path', description: 'Which.', schema: { type: 'string' }, required: true },
      {
        name: 'dry',
        in: 'query',
        description: 'Try.',
        schema: { $ref: '#/components/schemas/SignUpDto/properties/email' },
      },
    ],
    requestBody: {
      required: true,
      content: {
        'application/json': { schema: { type: 'array', items: { $ref: '#/components/schemas/SignInDto' } } },
      },
    },
    responses: {
      200: {
        description: 'Done.',
        headers: { ETag: { description: 'Version.', schema: { type: 'string' } } },
        content: { 'application/json': { schema: { $ref: '#/components/schemas/ReportDto' } } },
      },
      204: { description: 'Nothing to do.' },
    },
  })
  t.strictSame(root.tags, [{ name: 'things' }])
})

t.test('schemas refer to each other', async (t) => {
  const node = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: 'https://example.com/schemas/Node.schema.json',
    type: 'object',
    properties: { next: { $ref: '#' }, size: { $ref: '#/$defs/size' }, leaf: { $ref: 'urn:x:Leaf' } },
    $defs: { size: { type: 'integer' } },
  }
  const leaf = { $id: 'urn:x:Leaf', type: 'string' }
  const root = document({ schemas: [...schemas, node, leaf], operations: [routeWith(node.$id)] })
  const part = {
    $id: 'urn:x:PartInput',
    'x-table': 'api.parts',
    type: 'object',
    properties: { n: { type: 'integer', default: 1 }, x: true },
  }
  const parts = document({ schemas: [...schemas, part], tables: [table('parts', [column('n', 'integer')])] })
  t.strictSame(at(parts, 'components', 'schemas', 'PartInput', 'properties', 'n'), { type: 'integer', default: 1 })
  t.strictSame(
    at(parts, 'components', 'schemas', 'PartInput.update', 'properties'),
    { n: { type: 'integer' }, x: true },
    'what an update leaves out keeps its value',
  )
  t.strictSame(await faults(root), [])
  t.strictSame(at(root, 'components', 'schemas', 'Node'), {
    type: 'object',
    properties: {
      next: { $ref: '#/components/schemas/Node' },
      size: { $ref: '#/components/schemas/Node/$defs/size' },
      leaf: { $ref: '#/components/schemas/Leaf' },
    },
    $defs: { size: { type: 'integer' } },
  })

  const rows: readonly (readonly [readonly JsonSchema[], RegExp])[] = [
    [[{ type: 'object' }], /no \$id/],
    [
      [leaf, { $id: 'https://example.com/Leaf.json' }],
      /Leaf\.json: its \$id must end with a name that no other schema has/,
    ],
    [[{ $id: 'urn:x:A', $ref: 'urn:x:B' }], /no JSON Schema is at urn:x:B/],
    [[{ $id: 'urn:x:A', $ref: '#anchor' }], /no JSON Schema is at #anchor/],
  ]
  for (const [more, message] of rows) t.throws(() => document({ schemas: [...schemas, ...more] }), message)
  const odd = { $id: 'urn:x:Odd', properties: { $ref: { $ref: 'urn:x:Odd' } } }
  const named = document({ schemas: [...schemas, odd], operations: [routeWith(odd.$id)] })
  t.strictSame(
    at(named, 'components', 'schemas', 'Odd', 'properties'),
    { $ref: { $ref: '#/components/schemas/Odd' } },
    'properties can have any name',
  )
  t.throws(() => document({ schemas: [] }), /no JSON Schema is at urn:rowhouse:SignUpDto/)
})
