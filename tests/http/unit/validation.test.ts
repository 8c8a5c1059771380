import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import type { CreateReportDto } from '../../../server/services/report/report.ts'
import type { Fault } from '../../../server/validation/fault.ts'
import { addKeywords } from '../../../server/validation/keywords.ts'
import { readSchemas, type SchemaFile } from '../../../server/validation/schema-directory.ts'
import { compileSchemas, createValidator, maxFaults, ownSchemas } from '../../../server/validation/validator.ts'
import { cpuTime } from '../../support/cpu-time.ts'
import { seededRandom, testSeed } from '../../support/seeded-random.ts'

const validator = await createValidator()
/** All schemas of the program, compared with the meta-schema. */
const checkedValidator = compileSchemas(await readSchemas(ownSchemas))
const nextYear = new Date().getUTCFullYear() + 1

const run = {
  image_uri: 'https://example.org/a.jpg',
  image_source: 'camera',
  result_label: 'benign',
  confidence: 87.5,
  is_positive: false,
}
const required = Object.keys(run).map((name) => ({ pointer: `/${name}`, message: 'is required' }))
const uuid = '00000000-0000-4000-8000-00000000000a'

type Row = readonly [body: unknown, faults: readonly Fault[]]
const fault = (pointer: string, message: string): Fault => ({ pointer, message })

t.test('trusted schemas of services find the same faults as checked ones', async (t) => {
  const files = await readSchemas(ownSchemas)
  const random = seededRandom(testSeed(20_261_201))
  const values = [{}, [], null, 7, 'text', { unknown: 1 }, JSON.parse('{"__proto__": 1}'), ...files.map(exampleOf)]
  let faults = 0
  for (const { id, table } of files) {
    if (table !== undefined) continue
    // The first use of a schema compiles it, whichever it is.
    const trusted = compileSchemas(files, { trustsServices: true }).forDto(id)
    const checked = checkedValidator.forDto(id)
    for (let number = 0; number < 12; number++) {
      const value: unknown = values[random.below(values.length)]
      const found = trusted(structuredClone(value))
      t.strictSame(found, checked(structuredClone(value)), `${id}: ${JSON.stringify(value)}`)
      faults += found.length
    }
  }
  t.ok(faults > 100)
})

/** An object with the properties of a schema, few of them right. */
const exampleOf = ({ schema }: SchemaFile): unknown =>
  Object.fromEntries(Object.keys(schema.properties ?? {}).map((name, at) => [name, at % 2 ? ' a@b.example ' : at]))

t.test('a wrong schema of a service is found at once, unless it is trusted', async (t) => {
  const wrong = { type: 'object', additionalProperties: false, properties: { a: { type: 'nothing' } } }
  const file = { id: 'urn:test:Wrong', table: undefined, schema: { $id: 'urn:test:Wrong', ...wrong } }
  t.throws(() => compileSchemas([file]), /urn:test:Wrong/)
  t.throws(() => compileSchemas([file], { trustsServices: true }).forDto(file.id)({}), /urn:test:Wrong/)
})

t.test('rows to insert', async (t) => {
  const validate = validator.forTable('public', 'classification_runs')?.validateInsert
  if (!validate) throw new Error('the table has a schema')
  const rows: readonly Row[] = [
    [run, []],
    [{ ...run, user_id: uuid, recommendation: 'See a doctor.\nSoon.', model_version: null }, []],
    [{ ...run, confidence: 0 }, []],
    [{ ...run, confidence: 100 }, []],
    [[], []],
    [[run, run], []],
    [{}, required],
    [{ ...run, confidence: 100.5 }, [fault('/confidence', 'must be <= 100')]],
    [{ ...run, confidence: -1 }, [fault('/confidence', 'must be >= 0')]],
    [{ ...run, confidence: '87.5' }, [fault('/confidence', 'must be number')]],
    [{ ...run, confidence: null }, [fault('/confidence', 'must be number')]],
    [{ ...run, image_uri: 'no uri' }, [fault('/image_uri', 'must match format "uri"')]],
    [
      { ...run, image_uri: 'Javascript:alert(1)' },
      [fault('/image_uri', 'must begin with http:, https:, file:, content:, ph: or ni:, not with javascript:')],
    ],
    [{ ...run, image_uri: 'PH://1' }, []],
    [{ ...run, user_id: `urn:uuid:${uuid}` }, [fault('/user_id', 'must match format "uuid"')]],
    [{ ...run, created_at: '2024-01-01' }, [fault('/created_at', 'must match format "date-time"')]],
    [{ ...run, created_at: '2024-01-01T10:00:00.123Z' }, []],
    [{ ...run, updated_at: '2024-01-01T10:00:00Z' }, [fault('/updated_at', 'is not a known property')]],
    [{ ...run, 'a/b~c': 1 }, [fault('/a~1b~0c', 'is not a known property')]],
    [JSON.parse('{"__proto__": {}}'), [...required, fault('/__proto__', 'is not a known property')]],
    [{ ...run, constructor: 1 }, [fault('/constructor', 'is not a known property')]],
    [{ ...run, result_label: 'a\0b' }, [fault('/result_label', 'must not contain NUL or incomplete characters')]],
    [{ ...run, result_label: 'a\ud800b' }, [fault('/result_label', 'must not contain NUL or incomplete characters')]],
    [{ ...run, result_label: '🩺'.repeat(200) }, []],
    [{ ...run, result_label: '' }, [fault('/result_label', 'must NOT have fewer than 1 characters')]],
    [
      [run, { ...run, confidence: 200, is_positive: 'no' }, 7, [run]],
      [
        fault('/1/confidence', 'must be <= 100'),
        fault('/1/is_positive', 'must be boolean'),
        fault('/2', 'must be object'),
        fault('/3', 'must be object'),
      ],
    ],
    [null, [fault('', 'must be object')]],
    ['{}', [fault('', 'must be object')]],
  ]
  for (const [body, faults] of rows) t.strictSame(validate(body), faults, JSON.stringify(body).slice(0, 100))
})

t.test('rows to update: all properties are optional', async (t) => {
  const validate = validator.forTable('public', 'classification_runs')?.validateUpdate
  if (!validate) throw new Error('the table has a schema')
  const rows: readonly Row[] = [
    [{}, []],
    [{ confidence: 1 }, []],
    [run, []],
    [[{ confidence: 1 }], []],
    [
      { confidence: 101, image_uri: 1 },
      [fault('/image_uri', 'must be string'), fault('/confidence', 'must be <= 100')],
    ],
    [{ other: 1 }, [fault('/other', 'is not a known property')]],
    [5, [fault('', 'must be object')]],
  ]
  for (const [body, faults] of rows) t.strictSame(validate(body), faults, JSON.stringify(body))
})

t.test('profiles', async (t) => {
  const profiles = validator.forTable('public', 'profiles')
  const rows: readonly Row[] = [
    [{ full_name: 'Ann' }, []],
    [{ full_name: null, avatar_url: 'https://example.org/a.png' }, []],
    [{ avatar_url: 'a b' }, [fault('/full_name', 'is required'), fault('/avatar_url', 'must match format "uri"')]],
  ]
  for (const [body, faults] of rows) t.strictSame(profiles?.validateInsert(body), faults, JSON.stringify(body))
})

t.test('tables without a schema', async (t) => {
  t.equal(validator.forTable('public', 'tasks'), undefined)
  t.equal(validator.forTable('other', 'profiles'), undefined)
  t.throws(() => validator.forDto('urn:rowhouse:Nothing'), { message: /urn:rowhouse:Nothing/ })
})

const report: CreateReportDto = {
  manufacturer: 'Opel',
  model: 'Corsa',
  year: 2001,
  mileage: 90_000,
  price: 0,
  lat: -90,
  lng: 180,
}

t.test('reports', async (t) => {
  const validate = validator.forDto('urn:rowhouse:CreateReportDto')
  const rows: readonly Row[] = [
    [report, []],
    [{ ...report, year: nextYear }, []],
    [{ ...report, year: nextYear + 1 }, [fault('/year', `must be <= ${nextYear}`)]],
    [{ ...report, year: 1885 }, [fault('/year', 'must be >= 1886')]],
    [{ ...report, year: 2001.5 }, [fault('/year', 'must be integer')]],
    [{ ...report, mileage: 1.5 }, [fault('/mileage', 'must be integer')]],
    [{ ...report, model: '  ' }, [fault('/model', 'must NOT have fewer than 1 characters')]],
    [{ ...report, model: ` ${'x'.repeat(100)} ` }, []],
    [{ ...report, model: 'x'.repeat(101) }, [fault('/model', 'must NOT have more than 100 characters')]],
    [
      { manufacturer: 1, year: '2001', mileage: 2_000_001, price: -1, lat: 91, lng: -181, status: 'approved' },
      [
        fault('/model', 'is required'),
        fault('/status', 'is not a known property'),
        fault('/manufacturer', 'must be string'),
        fault('/year', 'must be integer'),
        fault('/mileage', 'must be <= 2000000'),
        fault('/price', 'must be >= 0'),
        fault('/lat', 'must be <= 90'),
        fault('/lng', 'must be >= -180'),
      ],
    ],
    [[report], [fault('', 'must be object')]],
  ]
  for (const [body, faults] of rows) t.strictSame(validate(structuredClone(body)), faults, JSON.stringify(body))

  // The TypeScript type and the schema name the same properties.
  t.strictSame(
    validate({}).map(({ pointer }) => pointer),
    Object.keys(report).map((name) => `/${name}`),
  )

  const padded = { ...report, manufacturer: '\t Opel \n', model: '\u00a0Corsa' }
  t.strictSame(validate(padded), [])
  t.strictSame(padded, report, 'texts are trimmed in place')
})

t.test('large input', async (t) => {
  const table = validator.forTable('public', 'classification_runs')
  const validate = table?.validateInsert ?? (() => [])

  t.test('many invalid rows: the first errors are listed, the others counted', async (t) => {
    const faults = validate(Array<unknown>(300_000).fill({}))
    t.equal(faults.length, maxFaults + 1)
    t.strictSame(faults[0], fault('/0/image_uri', 'is required'))
    t.strictSame(faults.at(-1), fault('', 'has 5 more faults, and faults in 299979 more rows'))
  })
  t.test('many valid rows', async (t) => {
    t.strictSame(validate(Array<unknown>(30_000).fill(run)), [])
  })
  t.test('many properties', async (t) => {
    const vast = Object.fromEntries(Array.from({ length: 200_000 }, (_, index) => [`k${index}`, 1]))
    t.strictSame(validate(vast), [fault('/image_uri', 'is required')])
    t.strictSame(table?.validateUpdate(vast), [fault('/k0', 'is not a known property')])
  })
  t.test('a very long name is truncated', async (t) => {
    const [first] = table?.validateUpdate({ ['k'.repeat(5_000_000)]: 1 }) ?? []
    t.match(first?.pointer, /^\/k{200}…$/)
  })
  t.test('a very long text is matched in linear time', async (t) => {
    for (const text of ['a', 'http://a/', 'a:', '%41', '@', '[::']) {
      const endless = { ...run, image_uri: text.repeat(5_000_000 / text.length) }
      const time = cpuTime(() =>
        t.strictSame(validate(endless), [
          fault('/image_uri', 'must NOT have more than 2048 characters'),
          fault('/image_uri', 'must match format "uri"'),
        ]),
      )
      t.ok(time < 5_000, `${time} ms`)
    }
  })
})

t.test('invalid folders of schemas', async (t) => {
  const closed = { $id: 'urn:test:a', type: 'object', additionalProperties: false }
  const rows: readonly (readonly [string, Record<string, unknown>, RegExp])[] = [
    ['no JSON', { 'a.json': '{' }, /a\.json: .*JSON/],
    ['no object', { 'a.json': '[]' }, /a\.json: not a schema object/],
    ['no $id', { 'a.json': { type: 'object', additionalProperties: false } }, /a\.json: \$id is missing/],
    ['open', { 'a.json': { $id: 'urn:test:a', type: 'object' } }, /a\.json: .*additionalProperties/],
    [
      'table without schema',
      { 'a.json': { ...closed, 'x-table': 'tasks' } },
      /a\.json: x-table must be "schema\.table"/,
    ],
    [
      'the same table twice',
      { 'a.json': { ...closed, 'x-table': 'a.b' }, 'b.json': { ...closed, $id: 'urn:test:b', 'x-table': 'a.b' } },
      /urn:test:b: another schema has the same x-table/,
    ],
    ['an unknown keyword', { 'a.json': { ...closed, requred: ['a'] } }, /urn:test:a: .*requred/],
    ['an unknown type', { 'a.json': { ...closed, properties: { a: { type: 'text' } } } }, /urn:test:a: /],
    [
      'trimming a row, which goes to the database as it came',
      { 'a.json': { ...closed, 'x-table': 'a.b', properties: { a: { type: 'string', 'x-trim': true } } } },
      /urn:test:a: .*x-trim/,
    ],
  ]
  for (const [name, files, message] of rows) {
    t.test(name, async (t) => {
      const contents = Object.entries(files).map(([file, schema]) => [
        file,
        typeof schema === 'string' ? schema : JSON.stringify(schema),
      ])
      const directory = t.testdir(Object.fromEntries(contents) as Record<string, string>)
      await t.rejects(createValidator(directory), { message })
    })
  }
})

t.test('string lengths agree with Ajv', async (t) => {
  const { below, pick, some } = seededRandom(testSeed(7))
  const [own, plain] = [new Ajv2020({ allErrors: true }), new Ajv2020({ allErrors: true })]
  addKeywords(own, 'table')
  const counts = { valid: 0, faulty: 0 }
  for (let time = 0; time < 300; time++) {
    const schema = { type: 'string', minLength: below(5), maxLength: below(7), pattern: '^[^z]*$' }
    const [ours, theirs] = [own.compile(schema), plain.compile(schema)]
    const texts = some(20, 20, () => some(0, 9, () => pick(['a', 'é', '地', '😀', '\ud83d', '\ude00', 'z'])).join(''))
    for (const text of texts) {
      const valid = theirs(text)
      counts[valid ? 'valid' : 'faulty'] += 1
      const isSame = ours(text) === valid && JSON.stringify(ours.errors) === JSON.stringify(theirs.errors)
      if (!isSame) t.strictSame(ours.errors, theirs.errors, JSON.stringify({ schema, text }))
    }
  }
  t.ok(counts.valid > 300 && counts.faulty > 300, JSON.stringify(counts))
})
