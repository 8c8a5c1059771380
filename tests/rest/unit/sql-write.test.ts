import t from 'tap'
import type { CallPlan } from '../../../server/rest/plan/call-plan.ts'
import type { MutatePlan } from '../../../server/rest/plan/mutate-plan.ts'
import { callStatement } from '../../../server/rest/sql/call.ts'
import { render } from '../../../server/rest/sql/fragment.ts'
import { mutateStatement } from '../../../server/rest/sql/mutate.ts'
import { argument, callPlan, deletePlan, equals, field, insertPlan, updatePlan, where } from '../../support/plans.ts'

const id = field('id', { type: 'integer', default: `nextval('items_id_seq'::regclass)` })
const name = field('na"me', { type: 'text' })
const color = field('color', { type: 'json', transform: '"api"."color_from_json"' })

const inserted = (sign: '+' | '-', other: string) =>
  `set_config('pgrst.inserted', (coalesce(nullif(current_setting('pgrst.inserted', true), '')::int, 0) ${sign} 1)::text, true) <> '${other}'`

type Row<P> = readonly [title: string, plan: P, text: string, values?: readonly (string | Buffer | null)[]]

const writes: readonly Row<MutatePlan>[] = [
  [
    'insert of an object',
    insertPlan('items', [id, name], ' \n{"id":1}'),
    'INSERT INTO "api"."items"("id", "na""me") SELECT "pgrst_body"."id", "pgrst_body"."na""me"' +
      ' FROM (SELECT $1::json AS json_data) pgrst_payload, LATERAL (SELECT "id", "na""me"' +
      ' FROM json_to_record(pgrst_payload.json_data) AS _("id" integer, "na""me" text)) pgrst_body RETURNING 1',
    [' \n{"id":1}'],
  ],
  [
    'insert of an array, returning columns',
    insertPlan('items', [id, color], '[{"id":1}]', { returning: ['*'] }),
    'INSERT INTO "api"."items"("id", "color") SELECT "pgrst_body"."id", "pgrst_body"."color"' +
      ' FROM (SELECT $1::json AS json_data) pgrst_payload, LATERAL (SELECT "id", "api"."color_from_json"("color") AS "color"' +
      ' FROM json_to_recordset(pgrst_payload.json_data) AS _("id" integer, "color" json)) pgrst_body' +
      ' RETURNING "api"."items".*',
    ['[{"id":1}]'],
  ],
  [
    'insert with defaults for missing keys of an object',
    insertPlan('items', [id, name], '{}', { applyDefaults: true }),
    'INSERT INTO "api"."items"("id", "na""me") SELECT "pgrst_body"."id", "pgrst_body"."na""me"' +
      ' FROM (SELECT $1::jsonb AS json_data) pgrst_payload,' +
      ` LATERAL (SELECT jsonb_build_object('id', nextval('items_id_seq'::regclass)) || pgrst_payload.json_data AS val) pgrst_json_defs,` +
      ' LATERAL (SELECT "id", "na""me" FROM jsonb_to_record(pgrst_json_defs.val) AS _("id" integer, "na""me" text)) pgrst_body' +
      ' RETURNING 1',
    ['{}'],
  ],
  [
    'insert with defaults for missing keys of an array',
    insertPlan('items', [id], '[{}]', { applyDefaults: true }),
    'INSERT INTO "api"."items"("id") SELECT "pgrst_body"."id" FROM (SELECT $1::jsonb AS json_data) pgrst_payload,' +
      ` LATERAL (SELECT jsonb_agg(jsonb_build_object('id', nextval('items_id_seq'::regclass)) || elem) AS val` +
      ' from jsonb_array_elements(pgrst_payload.json_data) elem) pgrst_json_defs,' +
      ' LATERAL (SELECT "id" FROM jsonb_to_recordset(pgrst_json_defs.val) AS _("id" integer)) pgrst_body RETURNING 1',
    ['[{}]'],
  ],
  [
    'insert of an empty object',
    insertPlan('items', [], '{}'),
    'INSERT INTO "api"."items" SELECT  FROM (SELECT $1::json AS json_data) pgrst_payload,' +
      ' LATERAL (SELECT  FROM (values(1)) _) pgrst_body RETURNING 1',
    ['{}'],
  ],
  [
    'insert of an array of empty objects',
    insertPlan('items', [], '[{}, {}]'),
    'INSERT INTO "api"."items" SELECT  FROM (SELECT $1::json AS json_data) pgrst_payload,' +
      ' LATERAL (SELECT  FROM json_array_elements(pgrst_payload.json_data) _) pgrst_body RETURNING 1',
    ['[{}, {}]'],
  ],
  [
    'upsert',
    insertPlan('items', [id, name], '[]', {
      onConflict: { resolution: 'merge-duplicates', columns: ['id', 'na"me'] },
    }),
    'INSERT INTO "api"."items"("id", "na""me") SELECT "pgrst_body"."id", "pgrst_body"."na""me"' +
      ' FROM (SELECT $1::json AS json_data) pgrst_payload, LATERAL (SELECT "id", "na""me"' +
      ' FROM json_to_recordset(pgrst_payload.json_data) AS _("id" integer, "na""me" text)) pgrst_body' +
      ` WHERE ${inserted('+', '0')} ON CONFLICT("id", "na""me") DO UPDATE SET "id" = EXCLUDED."id",` +
      ` "na""me" = EXCLUDED."na""me" WHERE ${inserted('-', '-1')} RETURNING 1`,
    ['[]'],
  ],
  [
    'upsert into a distributed table: updates are not counted',
    insertPlan('items', [id, name], '[]', {
      onConflict: { resolution: 'merge-duplicates', columns: ['id'] },
      isDistributed: true,
    }),
    'INSERT INTO "api"."items"("id", "na""me") SELECT "pgrst_body"."id", "pgrst_body"."na""me"' +
      ' FROM (SELECT $1::json AS json_data) pgrst_payload, LATERAL (SELECT "id", "na""me"' +
      ' FROM json_to_recordset(pgrst_payload.json_data) AS _("id" integer, "na""me" text)) pgrst_body' +
      ` WHERE ${inserted('+', '0')} ON CONFLICT("id") DO UPDATE SET "id" = EXCLUDED."id",` +
      ' "na""me" = EXCLUDED."na""me" RETURNING 1',
    ['[]'],
  ],
  [
    'insert that ignores duplicates',
    insertPlan('items', [id], '[]', { onConflict: { resolution: 'ignore-duplicates', columns: ['id'] } }),
    'INSERT INTO "api"."items"("id") SELECT "pgrst_body"."id" FROM (SELECT $1::json AS json_data) pgrst_payload,' +
      ' LATERAL (SELECT "id" FROM json_to_recordset(pgrst_payload.json_data) AS _("id" integer)) pgrst_body' +
      ' ON CONFLICT("id") DO NOTHING RETURNING 1',
    ['[]'],
  ],
  [
    'upsert into a table without a key: nothing conflicts, creations are counted',
    insertPlan('items', [id], '[]', { onConflict: { resolution: 'merge-duplicates', columns: [] } }),
    'INSERT INTO "api"."items"("id") SELECT "pgrst_body"."id" FROM (SELECT $1::json AS json_data) pgrst_payload,' +
      ' LATERAL (SELECT "id" FROM json_to_recordset(pgrst_payload.json_data) AS _("id" integer)) pgrst_body' +
      ` WHERE ${inserted('+', '0')} RETURNING 1`,
    ['[]'],
  ],
  [
    'PUT: the body must be what the URL names',
    insertPlan('items', [id], '{"id":1}', {
      onConflict: { resolution: 'merge-duplicates', columns: ['id'] },
      where: [where('id', equals('1'))],
    }),
    'INSERT INTO "api"."items"("id") SELECT "pgrst_body"."id" FROM (SELECT $1::json AS json_data) pgrst_payload,' +
      ' LATERAL (SELECT "id" FROM json_to_record(pgrst_payload.json_data) AS _("id" integer)) pgrst_body' +
      ` WHERE ${inserted('+', '0')} AND "pgrst_body"."id" = $2 ON CONFLICT("id") DO UPDATE SET "id" = EXCLUDED."id"` +
      ` WHERE ${inserted('-', '-1')} RETURNING 1`,
    ['{"id":1}', '1'],
  ],
  [
    'update',
    updatePlan('items', [name], '{"na\\"me":"x"}', { where: [where('id', equals('1'))], returning: ['id', 'na"me'] }),
    'UPDATE "api"."items" SET "na""me" = "pgrst_body"."na""me" FROM (SELECT $1::json AS json_data) pgrst_payload,' +
      ' LATERAL (SELECT "na""me" FROM json_to_record(pgrst_payload.json_data) AS _("na""me" text)) pgrst_body' +
      ' WHERE "api"."items"."id" = $2 RETURNING "api"."items"."id", "api"."items"."na""me"',
    ['{"na\\"me":"x"}', '1'],
  ],
  [
    'update of a distributed table',
    updatePlan('items', [name], '{"na\\"me":"x"}', { where: [where('id', equals('1'))], isDistributed: true }),
    'UPDATE "api"."items" SET "na""me" = "pgrst_body"."na""me" FROM (SELECT pgrst_body.*' +
      ' FROM (SELECT $1::json AS json_data) pgrst_payload,' +
      ' LATERAL (SELECT "na""me" FROM json_to_record(pgrst_payload.json_data) AS _("na""me" text)) pgrst_body' +
      ' OFFSET 0) pgrst_body WHERE "api"."items"."id" = $2 RETURNING 1',
    ['{"na\\"me":"x"}', '1'],
  ],
  [
    'update of nothing',
    updatePlan('items', [], '{}', { where: [where('id', equals('1'))] }),
    'SELECT NULL FROM "api"."items" WHERE false',
  ],
  [
    'update of nothing, with columns wanted back',
    updatePlan('items', [], '{}', { returning: ['*', 'a"'] }),
    'SELECT "items".*, "items"."a""" FROM "api"."items" WHERE false',
  ],
  [
    'delete',
    deletePlan('items', { where: [where('id', { kind: 'in', values: ['1', '2'] })], returning: ['id'] }),
    'DELETE FROM "api"."items" WHERE "api"."items"."id" = ANY ($1)  RETURNING "api"."items"."id"',
    ['{"1","2"}'],
  ],
  ['delete everything', deletePlan('items'), 'DELETE FROM "api"."items" RETURNING 1'],
]

for (const [title, plan, text, values = []] of writes) {
  t.test(title, async (t) => {
    t.strictSame(render(mutateStatement(plan)), { text, values })
  })
}

const direct = (values: Record<string, string | readonly string[]>) =>
  ({ kind: 'direct', values: new Map(Object.entries(values)) }) as const

const calls: readonly Row<CallPlan>[] = [
  ['without arguments', callPlan('f'), 'SELECT "pgrst_call".* FROM "api"."f"() pgrst_call'],
  [
    'arguments of a query string',
    callPlan('f', {
      parameters: { kind: 'named', parameters: [argument('a"', 'integer'), argument('b', 'character')] },
      arguments: direct({ 'a"': '1', b: "x'" }),
      returnsScalar: true,
    }),
    'SELECT pgrst_call.pgrst_scalar FROM (SELECT "api"."f"("a""" := $1::integer, "b" := $2::character) pgrst_scalar) pgrst_call',
    ['1', "x'"],
  ],
  [
    'variadic argument',
    callPlan('f', {
      parameters: { kind: 'named', parameters: [argument('v', 'integer[]', { variadic: true })] },
      arguments: direct({ v: ['1', '2"'] }),
    }),
    'SELECT "pgrst_call".* FROM "api"."f"(VARIADIC "v" := $1::text[]::integer[]) pgrst_call',
    ['{"1","2\\""}'],
  ],
  [
    'arguments of a body',
    callPlan('f', {
      parameters: {
        kind: 'named',
        parameters: [argument('a', 'integer'), argument('v', 'text[]', { variadic: true })],
      },
      arguments: { kind: 'body', body: '{"a":1}' },
      returning: ['id', 'name'],
      filterFields: ['age', 'id'],
    }),
    'SELECT "pgrst_call"."age", "pgrst_call"."id", "pgrst_call"."name" FROM (SELECT $1::json AS json_data) pgrst_payload,' +
      ' LATERAL (SELECT "a", "v" FROM json_to_record(pgrst_payload.json_data) AS _("a" integer, "v" text[]) LIMIT 1) pgrst_body,' +
      ' LATERAL "api"."f"("a" := pgrst_body."a", VARIADIC "v" := pgrst_body."v") pgrst_call',
    ['{"a":1}'],
  ],
  [
    'the body as the only argument',
    callPlan('f', {
      parameters: { kind: 'positional', parameter: argument('', 'json') },
      arguments: { kind: 'body', body: '{}' },
      returnsSetOfScalar: true,
    }),
    'SELECT pgrst_call.pgrst_scalar FROM (SELECT "api"."f"($1::json) pgrst_scalar) pgrst_call',
    ['{}'],
  ],
  [
    'a text body',
    callPlan('f', {
      parameters: { kind: 'positional', parameter: argument('', 'text') },
      arguments: { kind: 'body', body: Buffer.from('héllo\0…') },
      returning: [],
    }),
    'SELECT "pgrst_call".* FROM "api"."f"($1::text) pgrst_call',
    ['héllo'],
  ],
  [
    'a body of bytes',
    callPlan('f', {
      parameters: { kind: 'positional', parameter: argument('', 'bytea') },
      arguments: { kind: 'body', body: Buffer.from([0, 255, 1]) },
    }),
    'SELECT "pgrst_call".* FROM "api"."f"($1::bytea) pgrst_call',
    [Buffer.from([0, 255, 1])],
  ],
  [
    'bytes that are no text, for a text: Postgres is to complain',
    callPlan('f', {
      parameters: { kind: 'positional', parameter: argument('', 'text') },
      arguments: { kind: 'body', body: Buffer.from([255]) },
    }),
    'SELECT "pgrst_call".* FROM "api"."f"($1::text) pgrst_call',
    [Buffer.from([255])],
  ],
  [
    'no arguments for the only, unnamed parameter',
    callPlan('f', {
      parameters: { kind: 'positional', parameter: argument('', 'json') },
      arguments: direct({}),
    }),
    'SELECT "pgrst_call".* FROM "api"."f"($1::json) pgrst_call',
    ['{}'],
  ],
]

for (const [title, plan, text, values = []] of calls) {
  t.test(`call: ${title}`, async (t) => {
    t.strictSame(render(callStatement(plan)), { text, values })
  })
}
