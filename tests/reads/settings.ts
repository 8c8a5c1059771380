import { fault, type Topic } from '../support/exchange.ts'

const noAggregates = fault(400, 'PGRST123', 'Use of aggregate functions is not allowed')
const noPlan = (mime: string) => fault(406, 'PGRST107', `None of these media types are available: ${mime}`)
const planText = 'application/vnd.pgrst.plan+text'
const planJson = 'application/vnd.pgrst.plan+json'

export const settingsTopics: readonly Topic[] = [
  {
    title: 'disabled aggregates',
    settings: { PGRST_DB_AGGREGATES_ENABLED: 'false' },
    exchanges: [
      ['/cars?select=price.sum()', noAggregates],
      ['/cars?select=id,count()', noAggregates],
      ['/models?select=name,cars(count())', noAggregates],
      ['/cars?select=id,...models(price.sum())', noAggregates],
      ['/cars?select=id&id=eq.1', [{ id: 1 }]],
      // The legacy form is a function of the row.
      ['/tickets?select=count', [{ count: 100 }]],
    ],
  },
  {
    title: 'plans',
    settings: { PGRST_DB_PLAN_ENABLED: 'true' },
    exchanges: [
      [
        { path: '/cars?id=eq.1', headers: { Accept: 'application/vnd.pgrst.plan' } },
        {
          text: /^Aggregate {2}\(cost=/,
          headers: { 'Content-Type': `${planText}; for="application/json"; charset=utf-8` },
        },
      ],
      [
        { path: '/cars?id=eq.1', headers: { Accept: `${planText}; options=analyze|verbose|settings|buffers|wal` } },
        {
          text: /\(actual time=[\s\S]*Output: [\s\S]*Buffers: [\s\S]*Planning Time: /,
          headers: {
            'Content-Type': `${planText}; for="application/json"; options=analyze|verbose|settings|buffers|wal; charset=utf-8`,
          },
        },
      ],
      [
        { path: '/cars?id=eq.1', headers: { Accept: planJson } },
        {
          text: /^\[\s*\{\s*"Plan": \{/,
          headers: { 'Content-Type': `${planJson}; for="application/json"; charset=utf-8` },
        },
      ],
      [
        { path: '/cars?id=eq.1', headers: { Accept: `${planText}; for="text/csv"; options=verbose` } },
        {
          text: /string_agg/,
          headers: { 'Content-Type': `${planText}; for="text/csv"; options=verbose; charset=utf-8` },
        },
      ],
      [
        { path: '/cars', headers: { Accept: `${planJson}; for="application/vnd.pgrst.object"` } },
        {
          text: /"Plan"/,
          headers: { 'Content-Type': `${planJson}; for="application/vnd.pgrst.object+json"; charset=utf-8` },
        },
      ],
      [{ path: '/rpc/levels', headers: { Accept: planText } }, { text: /^Aggregate/ }],
      [{ path: '/cars', headers: { Accept: `${planText}; for="image/png"` } }, { status: 406 }],
      [{ method: 'HEAD', path: '/cars', headers: { Accept: planText } }, { text: '' }],
    ],
  },
  {
    title: 'disabled plans',
    settings: { PGRST_DB_PLAN_ENABLED: 'false' },
    exchanges: [
      [{ path: '/cars', headers: { Accept: planJson } }, noPlan(`${planJson}; for="application/json"`)],
      [
        { path: '/plates?car_id=eq.1', headers: { Accept: `${planJson}, application/json` } },
        [{ car_id: 1, plate: 'AB 12' }],
      ],
    ],
  },
  {
    title: 'db-max-rows',
    settings: { PGRST_DB_MAX_ROWS: '2' },
    exchanges: [
      ['/tickets?select=id&order=id', { json: [{ id: 1 }, { id: 2 }], headers: { 'Content-Range': '0-1/*' } }],
      ['/tickets?select=id&order=id&limit=50', [{ id: 1 }, { id: 2 }]],
      ['/tickets?select=id&order=id&limit=1', [{ id: 1 }]],
      [
        '/tickets?select=id&order=id&offset=97',
        { json: [{ id: 98 }, { id: 99 }], headers: { 'Content-Range': '97-98/*' } },
      ],
      [{ path: '/tickets?select=id&order=id', headers: { Range: '0-49' } }, [{ id: 1 }, { id: 2 }]],
      [
        { path: '/tickets?select=id&order=id', headers: { Prefer: 'count=exact' } },
        { status: 206, json: [{ id: 1 }, { id: 2 }], headers: { 'Content-Range': '0-1/100' } },
      ],
      [
        { path: '/tickets?select=id&order=id', headers: { Prefer: 'count=estimated' } },
        { status: 206, json: [{ id: 1 }, { id: 2 }], headers: { 'Content-Range': '0-1/100' } },
      ],
      [
        { path: '/tickets?select=id&id=lt.3&order=id', headers: { Prefer: 'count=estimated' } },
        { json: [{ id: 1 }, { id: 2 }], headers: { 'Content-Range': '0-1/2' } },
      ],
      [
        '/workshops?select=id,repairs(car_id)&repairs.order=car_id&id=eq.1',
        [{ id: 1, repairs: [{ car_id: 1 }, { car_id: 2 }] }],
      ],
      ['/makers?select=id,cars_of(id)&cars_of.order=id&id=eq.1', [{ id: 1, cars_of: [{ id: 1 }, { id: 2 }] }]],
      ['/rpc/levels', { json: [1, 2], headers: { 'Content-Range': '0-1/*' } }],
      [
        { path: '/rpc/levels', headers: { Prefer: 'count=exact' } },
        { status: 206, json: [1, 2], headers: { 'Content-Range': '0-1/5' } },
      ],
    ],
  },
  {
    title: 'timing',
    settings: { PGRST_SERVER_TIMING_ENABLED: 'true' },
    exchanges: [
      [
        '/plates?select=plate&car_id=eq.1',
        {
          headers: {
            'Server-Timing':
              /^jwt;dur=\d+\.\d, parse;dur=\d+\.\d, plan;dur=\d+\.\d, transaction;dur=\d+\.\d, response;dur=\d+\.\d$/,
          },
        },
      ],
      [{ method: 'HEAD', path: '/plates' }, { headers: { 'Server-Timing': /^jwt;.*response;dur=[\d.]+$/ } }],
      ['/cars?id=xx', { status: 400, headers: { 'Server-Timing': null } }],
    ],
  },
  {
    title: 'embeds with an alias',
    settings: { PGRST_URL_USE_LEGACY_TARGET_NAMES: 'false' },
    exchanges: [
      [
        '/makers?select=id,ms:models(id)&models.id=eq.2&id=eq.1',
        fault(
          400,
          'PGRST108',
          "'models' is not an embedded resource in this request",
          'Target names are not allowed in filters if they have an alias',
          "Change 'models' to 'ms' in filters, orders or limits.",
        ),
      ],
      [
        '/makers?select=id,ms:models(id),models(id)&models.id=eq.2&ms.id=eq.1&id=eq.1',
        { json: [{ id: 1, ms: [{ id: 1 }], models: [{ id: 2 }] }], headers: { Warning: null } },
      ],
      ['/makers?select=id,ms:models(id)&ms.limit=1&ms.order=id.desc&id=eq.1', [{ id: 1, ms: [{ id: 2 }] }]],
    ],
  },
  {
    title: 'embeds with an alias, legacy names',
    exchanges: [
      [
        '/makers?select=id,ms:models(id)&models.id=eq.2&id=eq.1',
        {
          json: [{ id: 1, ms: [{ id: 2 }] }],
          headers: { Warning: /^299 PostgREST.*Update `models` to `ms` in query string filters, orders or limits\."$/ },
        },
      ],
      ['/makers?select=id,ms:models(id)&ms.id=eq.2&id=eq.1', { headers: { Warning: null } }],
    ],
  },
  {
    title: 'search path',
    settings: { PGRST_DB_EXTRA_SEARCH_PATH: '' },
    exchanges: [
      [
        '/rpc/shouted?word=ah',
        fault(
          404,
          '42883',
          'function shout(text) does not exist',
          null,
          'No function matches the given name and argument types. You might need to add explicit type casts.',
        ),
      ],
    ],
  },
  {
    title: 'minimal errors',
    settings: { PGRST_CLIENT_ERROR_VERBOSITY: 'minimal' },
    exchanges: [
      [
        '/car',
        {
          status: 404,
          json: { code: 'PGRST205', message: "Could not find the table 'garage.car' in the schema cache" },
        },
      ],
    ],
  },
  {
    title: 'requests that PostgREST answers with an internal error',
    settings: {},
    exchanges: [
      ['/cars?%ff=eq.1', fault(400, 'PGRST100', 'The query string is not valid UTF-8', 'unexpected bytes')],
      ['/cars?id=eq.%ff', fault(400, 'PGRST100', 'The query string is not valid UTF-8', 'unexpected bytes')],
    ],
  },
]
