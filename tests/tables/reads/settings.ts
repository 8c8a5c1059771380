import { fault, trailingText, type RequestTable } from '../../support/request-table.ts'

const noAggregates = fault('PGRST123', 'Use of aggregate functions is not allowed')
const noPlan = (mime: string) => fault('PGRST107', `None of these media types are available: ${mime}`)
const planText = 'application/vnd.pgrst.plan+text'
const planJson = 'application/vnd.pgrst.plan+json'

export const settingsTables: readonly RequestTable[] = [
  {
    title: 'disabled aggregates',
    settings: { PGRST_DB_AGGREGATES_ENABLED: 'false' },
    rows: [
      { send: ['GET', '/cars?select=price.sum()'], status: 400, body: noAggregates },
      { send: ['GET', '/cars?select=id,count()'], status: 400, body: noAggregates },
      { send: ['GET', '/models?select=name,cars(count())'], status: 400, body: noAggregates },
      { send: ['GET', '/cars?select=id,...models(price.sum())'], status: 400, body: noAggregates },
      { send: ['GET', '/cars?select=id&id=eq.1'], body: [{ id: 1 }] },
      // The legacy form is a function of the row.
      { send: ['GET', '/tickets?select=count'], body: [{ count: 100 }] },
    ],
  },
  {
    title: "PostgREST's handling of text after a complete value",
    settings: { URL_IGNORE_TRAILING_TEXT: 'true' },
    rows: [
      { send: ['GET', '/cars?select=id)zzz&id=in.(1,2)junk&order=id'], body: [{ id: 1 }, { id: 2 }] },
      { send: ['GET', '/cars?select=id&and=(id.eq.1),id.eq.2)'], body: [{ id: 1 }] },
      { send: ['GET', '/cars?select=id&id)x=eq.1'], body: [{ id: 1 }] },
      { send: ['GET', '/plates?select=,id&car_id=eq.1'], body: [{ car_id: 1, plate: 'AB 12' }] },
      { send: ['GET', '/plates?and=(car_id.eq.1)x'], body: [{ car_id: 1, plate: 'AB 12' }] },
      { send: ['GET', '/plates?select=(id)&car_id=eq.1'], body: [{ car_id: 1, plate: 'AB 12' }] },
      { send: ['GET', '/cars?select=models(id))&id=eq.1'], body: [{ models: { id: 1 } }] },
      { send: ['GET', '/plates?select=:id&car_id=eq.1'], body: [{ car_id: 1, plate: 'AB 12' }] },
      { send: ['GET', '/plates?select=...models&car_id=eq.1'], body: [{ car_id: 1, plate: 'AB 12' }] },
      { send: ['GET', '/cars?models(.limit=1&select=id&id=eq.1'], body: [{ id: 1 }] },
    ],
  },
  {
    title: 'text after a complete value',
    settings: { URL_IGNORE_TRAILING_TEXT: 'false' },
    rows: [
      {
        send: ['GET', '/cars?select=id&id=in.(1,2)junk'],
        status: 400,
        body: trailingText('filter (in.(1,2)junk)', 9, "unexpected 'j' expecting end of input"),
      },
      {
        send: ['DELETE', '/cars?and=(id.eq.1),(id.eq.2)'],
        status: 400,
        body: trailingText('logic tree ((id.eq.1),(id.eq.2))', 13, "unexpected ',' expecting end of input"),
      },
      {
        send: ['GET', '/models?select=id&name=in.("say "hi", bob")'],
        status: 400,
        body: trailingText('filter (in.("say "hi", bob"))', 11, 'unexpected \'h\' expecting ",", ")" or end of input'),
      },
      {
        send: ['GET', '/cars?id)x=eq.1'],
        status: 400,
        body: trailingText(
          'tree path (id)x)',
          3,
          'unexpected \')\' expecting letter, digit, "-", delimiter (.), "->>", "->" or end of input',
        ),
      },
      {
        send: ['GET', '/cars?select=id,models(id)&models)x.limit=1'],
        status: 400,
        body: trailingText(
          'tree path (models)x.limit)',
          7,
          'unexpected \')\' expecting letter, digit, "-", delimiter (.), "->>", "->" or end of input',
        ),
      },
    ],
  },
  {
    title: 'plans',
    settings: { PGRST_DB_PLAN_ENABLED: 'true' },
    rows: [
      {
        send: ['GET', '/cars?id=eq.1'],
        accept: 'application/vnd.pgrst.plan',
        body: /^Aggregate {2}\(cost=/,
        contentType: `${planText}; for="application/json"; charset=utf-8`,
      },
      {
        send: ['GET', '/cars?id=eq.1'],
        accept: `${planText}; options=analyze|verbose|settings|buffers|wal`,
        body: /\(actual time=[\s\S]*Output: [\s\S]*Buffers: [\s\S]*Planning Time: /,
        contentType: `${planText}; for="application/json"; options=analyze|verbose|settings|buffers|wal; charset=utf-8`,
      },
      {
        send: ['GET', '/cars?id=eq.1'],
        accept: planJson,
        body: /^\[\s*\{\s*"Plan": \{/,
        contentType: `${planJson}; for="application/json"; charset=utf-8`,
      },
      {
        send: ['GET', '/cars?id=eq.1'],
        accept: `${planText}; for="text/csv"; options=verbose`,
        body: /string_agg/,
        contentType: `${planText}; for="text/csv"; options=verbose; charset=utf-8`,
      },
      {
        send: ['GET', '/cars'],
        accept: `${planJson}; for="application/vnd.pgrst.object"`,
        body: /"Plan"/,
        contentType: `${planJson}; for="application/vnd.pgrst.object+json"; charset=utf-8`,
      },
      {
        send: ['GET', '/rpc/levels'],
        accept: planText,
        body: /^Aggregate/,
        contentType: `${planText}; for="application/json"; charset=utf-8`,
      },
      {
        send: ['GET', '/cars'],
        accept: `${planText}; for="image/png"`,
        status: 406,
        body: noPlan(`${planText}; for="image/png"`),
      },
      {
        send: ['HEAD', '/cars'],
        accept: planText,
        contentType: `${planText}; for="application/json"; charset=utf-8`,
      },
    ],
  },
  {
    title: 'disabled plans',
    settings: { PGRST_DB_PLAN_ENABLED: 'false' },
    rows: [
      { send: ['GET', '/cars'], accept: planJson, status: 406, body: noPlan(`${planJson}; for="application/json"`) },
      {
        send: ['GET', '/plates?car_id=eq.1'],
        accept: `${planJson}, application/json`,
        body: [{ car_id: 1, plate: 'AB 12' }],
      },
    ],
  },
  {
    title: 'db-max-rows',
    settings: { PGRST_DB_MAX_ROWS: '2' },
    rows: [
      { send: ['GET', '/tickets?select=id&order=id'], body: [{ id: 1 }, { id: 2 }] },
      { send: ['GET', '/tickets?select=id&order=id&limit=50'], body: [{ id: 1 }, { id: 2 }] },
      { send: ['GET', '/tickets?select=id&order=id&limit=1'], body: [{ id: 1 }] },
      { send: ['GET', '/tickets?select=id&order=id&offset=97'], body: [{ id: 98 }, { id: 99 }], range: '97-98/*' },
      { send: ['GET', '/tickets?select=id&order=id'], headers: { Range: '0-49' }, body: [{ id: 1 }, { id: 2 }] },
      {
        send: ['GET', '/tickets?select=id&order=id'],
        prefer: 'count=exact',
        status: 206,
        body: [{ id: 1 }, { id: 2 }],
        range: '0-1/100',
        applied: 'count=exact',
      },
      {
        send: ['GET', '/tickets?select=id&order=id'],
        prefer: 'count=estimated',
        status: 206,
        body: [{ id: 1 }, { id: 2 }],
        range: '0-1/100',
        applied: 'count=estimated',
      },
      {
        send: ['GET', '/tickets?select=id&id=lt.3&order=id'],
        prefer: 'count=estimated',
        body: [{ id: 1 }, { id: 2 }],
        range: '0-1/2',
        applied: 'count=estimated',
      },
      {
        send: ['GET', '/workshops?select=id,repairs(car_id)&repairs.order=car_id&id=eq.1'],
        body: [{ id: 1, repairs: [{ car_id: 1 }, { car_id: 2 }] }],
      },
      {
        send: ['GET', '/makers?select=id,cars_of(id)&cars_of.order=id&id=eq.1'],
        body: [{ id: 1, cars_of: [{ id: 1 }, { id: 2 }] }],
      },
      { send: ['GET', '/rpc/levels'], body: [1, 2] },
      {
        send: ['GET', '/rpc/levels'],
        prefer: 'count=exact',
        status: 206,
        body: [1, 2],
        range: '0-1/5',
        applied: 'count=exact',
      },
    ],
  },
  {
    title: 'timing',
    settings: { PGRST_SERVER_TIMING_ENABLED: 'true' },
    rows: [
      {
        send: ['GET', '/plates?select=plate&car_id=eq.1'],
        body: [{ plate: 'AB 12' }],
        also: {
          'Server-Timing':
            /^jwt;dur=\d+\.\d, parse;dur=\d+\.\d, plan;dur=\d+\.\d, transaction;dur=\d+\.\d, response;dur=\d+\.\d$/,
        },
      },
      {
        send: ['HEAD', '/plates'],
        contentType: 'application/json; charset=utf-8',
        range: '0-2/*',
        also: { 'Server-Timing': /^jwt;.*response;dur=[\d.]+$/ },
      },
      {
        send: ['GET', '/cars?id=xx'],
        status: 400,
        body: fault(
          'PGRST100',
          '"failed to parse filter (xx)" (line 1, column 1)',
          'unexpected "x" expecting "not" or operator (eq, gt, ...)',
        ),
      },
    ],
  },
  {
    title: 'embeds with an alias',
    settings: { PGRST_URL_USE_LEGACY_TARGET_NAMES: 'false' },
    rows: [
      {
        send: ['GET', '/makers?select=id,ms:models(id)&models.id=eq.2&id=eq.1'],
        status: 400,
        body: fault(
          'PGRST108',
          "'models' is not an embedded resource in this request",
          'Target names are not allowed in filters if they have an alias',
          "Change 'models' to 'ms' in filters, orders or limits.",
        ),
      },
      {
        send: ['GET', '/makers?select=id,ms:models(id),models(id)&models.id=eq.2&ms.id=eq.1&id=eq.1'],
        body: [{ id: 1, ms: [{ id: 1 }], models: [{ id: 2 }] }],
      },
      {
        send: ['GET', '/makers?select=id,ms:models(id)&ms.limit=1&ms.order=id.desc&id=eq.1'],
        body: [{ id: 1, ms: [{ id: 2 }] }],
      },
    ],
  },
  {
    title: 'embeds with an alias, legacy names',
    rows: [
      {
        send: ['GET', '/makers?select=id,ms:models(id)&models.id=eq.2&id=eq.1'],
        body: [{ id: 1, ms: [{ id: 2 }] }],
        also: { Warning: /^299 PostgREST.*Update `models` to `ms` in query string filters, orders or limits\."$/ },
      },
      { send: ['GET', '/makers?select=id,ms:models(id)&ms.id=eq.2&id=eq.1'], body: [{ id: 1, ms: [{ id: 2 }] }] },
    ],
  },
  {
    title: 'search path',
    settings: { PGRST_DB_EXTRA_SEARCH_PATH: '' },
    rows: [
      {
        send: ['GET', '/rpc/shouted?word=ah'],
        status: 404,
        body: fault(
          '42883',
          'function shout(text) does not exist',
          null,
          'No function matches the given name and argument types. You might need to add explicit type casts.',
        ),
      },
    ],
  },
  {
    title: 'minimal errors',
    settings: { PGRST_CLIENT_ERROR_VERBOSITY: 'minimal' },
    rows: [
      {
        send: ['GET', '/car'],
        status: 404,
        body: { code: 'PGRST205', message: "Could not find the table 'garage.car' in the schema cache" },
      },
    ],
  },
  {
    title: 'requests that PostgREST answers with an internal error',
    settings: {},
    rows: [
      {
        send: ['GET', '/cars?%ff=eq.1'],
        status: 400,
        body: fault('PGRST100', 'The query string is not valid UTF-8', 'unexpected bytes'),
      },
      {
        send: ['GET', '/cars?id=eq.%ff'],
        status: 400,
        body: fault('PGRST100', 'The query string is not valid UTF-8', 'unexpected bytes'),
      },
    ],
  },
]
