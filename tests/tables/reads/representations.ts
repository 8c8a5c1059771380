import { fault, type RequestTable } from '../../support/request-table.ts'

export const representations: RequestTable = {
  title: 'representations',
  rows: [
    // JSON
    {
      send: ['GET', '/plates?order=car_id&limit=2'],
      body: [
        { car_id: 1, plate: 'AB 12' },
        { car_id: 2, plate: 'CD 34' },
      ],
    },
    {
      send: ['GET', '/plates?order=car_id&limit=2'],
      accept: 'application/json',
      body: [
        { car_id: 1, plate: 'AB 12' },
        { car_id: 2, plate: 'CD 34' },
      ],
    },
    {
      send: ['GET', '/plates?order=car_id&limit=2'],
      accept: '*/*',
      body: [
        { car_id: 1, plate: 'AB 12' },
        { car_id: 2, plate: 'CD 34' },
      ],
    },
    {
      send: ['GET', '/plates?order=car_id&limit=2'],
      accept: 'application/*',
      status: 406,
      body: fault('PGRST107', 'None of these media types are available: application/*'),
    },
    {
      send: ['GET', '/plates?order=car_id&limit=2'],
      accept: 'application/json;charset=utf-8',
      body: [
        { car_id: 1, plate: 'AB 12' },
        { car_id: 2, plate: 'CD 34' },
      ],
    },
    {
      send: ['GET', '/plates?order=car_id&limit=2'],
      accept: 'APPLICATION/JSON',
      body: [
        { car_id: 1, plate: 'AB 12' },
        { car_id: 2, plate: 'CD 34' },
      ],
    },
    {
      send: ['GET', '/plates?order=car_id&limit=2'],
      accept: 'application/vnd.pgrst.array+json',
      body: [
        { car_id: 1, plate: 'AB 12' },
        { car_id: 2, plate: 'CD 34' },
      ],
    },
    {
      send: ['GET', '/plates?order=car_id&limit=2'],
      accept: 'application/vnd.pgrst.array',
      body: [
        { car_id: 1, plate: 'AB 12' },
        { car_id: 2, plate: 'CD 34' },
      ],
    },

    // a single object
    {
      send: ['GET', '/plates?car_id=eq.1'],
      accept: 'application/vnd.pgrst.object+json',
      body: { car_id: 1, plate: 'AB 12' },
      contentType: 'application/vnd.pgrst.object+json; charset=utf-8',
      range: '0-0/*',
    },
    {
      send: ['GET', '/plates?car_id=eq.1'],
      accept: 'application/vnd.pgrst.object',
      body: { car_id: 1, plate: 'AB 12' },
      contentType: 'application/vnd.pgrst.object+json; charset=utf-8',
      range: '0-0/*',
    },
    {
      send: ['GET', '/plates?order=car_id&limit=2'],
      accept: 'application/vnd.pgrst.object+json',
      status: 406,
      body: fault('PGRST116', 'Cannot coerce the result to a single JSON object', 'The result contains 2 rows'),
    },
    {
      send: ['GET', '/empty_lot'],
      accept: 'application/vnd.pgrst.object+json',
      status: 406,
      body: fault('PGRST116', 'Cannot coerce the result to a single JSON object', 'The result contains 0 rows'),
    },
    {
      send: ['GET', '/plates?limit=1&order=car_id'],
      accept: 'application/vnd.pgrst.object+json',
      body: { car_id: 1, plate: 'AB 12' },
      contentType: 'application/vnd.pgrst.object+json; charset=utf-8',
      range: '0-0/*',
    },
    {
      send: ['GET', '/rpc/levels'],
      accept: 'application/vnd.pgrst.object+json',
      status: 406,
      body: fault('PGRST116', 'Cannot coerce the result to a single JSON object', 'The result contains 5 rows'),
    },
    {
      send: ['GET', '/rpc/add?a=1'],
      accept: 'application/vnd.pgrst.object+json',
      body: 11,
      contentType: 'application/vnd.pgrst.object+json; charset=utf-8',
      range: '0-0/*',
    },
    {
      send: ['GET', '/rpc/first_car?select=id'],
      accept: 'application/vnd.pgrst.object+json',
      body: { id: 1 },
      contentType: 'application/vnd.pgrst.object+json; charset=utf-8',
      range: '0-0/*',
    },
    { send: ['GET', '/rpc/no_car?select=id'], body: { id: null }, range: '0-0/*' },

    // without nulls
    {
      send: ['GET', '/cars?select=id,mileage,details&id=in.(1,5)&order=id'],
      accept: 'application/vnd.pgrst.array+json;nulls=stripped',
      body: [
        { id: 1, mileage: 120000, details: { extras: ['radio', 'hook'], wheels: { rear: 17, front: 16 } } },
        { id: 5, details: { extras: ['sun roof'], wheels: { front: 18 } } },
      ],
      contentType: 'application/vnd.pgrst.array+json;nulls=stripped; charset=utf-8',
    },
    {
      send: ['GET', '/cars?select=id,mileage&id=eq.5'],
      accept: 'application/vnd.pgrst.object+json;nulls=stripped',
      body: { id: 5 },
      contentType: 'application/vnd.pgrst.object+json;nulls=stripped; charset=utf-8',
      range: '0-0/*',
    },
    {
      send: ['GET', '/cars?select=id,mileage'],
      accept: 'application/vnd.pgrst.object+json;nulls=stripped',
      status: 406,
      body: fault('PGRST116', 'Cannot coerce the result to a single JSON object', 'The result contains 5 rows'),
    },
    {
      send: ['GET', '/cars?select=id,mileage&id=eq.5'],
      accept: 'application/json;nulls=stripped',
      body: [{ id: 5, mileage: null }],
    },
    {
      send: ['GET', '/rpc/cars_under?limit_price=4000&select=id,paint'],
      accept: 'application/vnd.pgrst.array+json;nulls=stripped',
      body: [{ id: 4 }],
      contentType: 'application/vnd.pgrst.array+json;nulls=stripped; charset=utf-8',
    },

    // CSV
    {
      send: ['GET', '/plates?order=car_id&limit=2'],
      accept: 'text/csv',
      body: 'car_id,plate\n1,"AB 12"\n2,"CD 34"',
      contentType: 'text/csv; charset=utf-8',
      range: '0-1/*',
    },
    {
      send: ['GET', '/cars?select=id,label,tags,details,price,mileage&id=gt.3&order=id'],
      accept: 'text/csv',
      body: 'id,label,tags,details,price,mileage\n4,"a ""quoted"", name","{rust,""old timer""}","{""wheels"": null}",3999,88000\n5,"no\\\\model (yet)",,"{""extras"": [""sun roof""], ""wheels"": {""front"": 18}}",,',
      contentType: 'text/csv; charset=utf-8',
      range: '0-1/*',
    },
    {
      send: ['GET', '/empty_lot'],
      accept: 'text/csv',
      body: '\n',
      contentType: 'text/csv; charset=utf-8',
      range: '*/*',
    },
    {
      send: ['GET', '/cars?select=id,models(name)&id=eq.1'],
      accept: 'text/csv',
      body: 'id,models\n1,"{""name"": ""V1""}"',
      contentType: 'text/csv; charset=utf-8',
      range: '0-0/*',
    },
    {
      send: ['GET', '/rpc/levels?limit=2'],
      accept: 'text/csv',
      body: 'pgrst_scalar\n1\n2',
      contentType: 'text/csv; charset=utf-8',
      range: '0-1/*',
    },
    {
      send: ['GET', '/rpc/cars_under?limit_price=4000&select=id,label'],
      accept: 'text/csv',
      body: 'id,label\n4,"a ""quoted"", name"',
      contentType: 'text/csv; charset=utf-8',
      range: '0-0/*',
    },

    // GeoJSON
    {
      send: ['GET', '/plates?select=plate&order=car_id&limit=1'],
      accept: 'application/geo+json',
      body: { type: 'FeatureCollection', features: [{ type: 'Feature', properties: { plate: 'AB 12' } }] },
      contentType: 'application/geo+json; charset=utf-8',
      range: '0-0/*',
    },
    {
      send: ['GET', '/empty_lot'],
      accept: 'application/geo+json',
      body: { type: 'FeatureCollection', features: [] },
      contentType: 'application/geo+json; charset=utf-8',
      range: '*/*',
    },

    // handlers of the schema
    { send: ['GET', '/rpc/motto'], body: '"We fix it."', range: '0-0/*' },
    {
      send: ['GET', '/rpc/motto'],
      accept: 'text/plain',
      body: 'We fix it.',
      contentType: 'text/plain; charset=utf-8',
      range: '0-0/*',
    },
    { send: ['GET', '/rpc/motto'], accept: 'application/json', body: '"We fix it."', range: '0-0/*' },
    {
      send: ['GET', '/rpc/content_of?file_id=1'],
      accept: 'application/octet-stream',
      body: Buffer.from('00ff10', 'hex'),
      contentType: 'application/octet-stream',
      range: '0-0/*',
    },
    { send: ['GET', '/rpc/content_of?file_id=2'], body: '"\\\\x706c61696e"', range: '0-0/*' },
    {
      send: ['GET', '/rpc/content_of?file_id=9'],
      accept: 'application/octet-stream',
      contentType: 'application/octet-stream',
      range: '0-0/*',
    },
    { send: ['GET', '/rpc/anything'], body: 'OK', contentType: 'image/x-own', range: '0-0/*' },
    { send: ['GET', '/rpc/anything'], accept: 'image/png', body: 'OK', contentType: 'image/x-own', range: '0-0/*' },
    { send: ['GET', '/rpc/unnamed'], body: '?', contentType: 'application/octet-stream', range: '0-0/*' },
    {
      send: ['GET', '/rpc/unnamed'],
      accept: 'image/png',
      body: '?',
      contentType: 'application/octet-stream',
      range: '0-0/*',
    },
    {
      send: ['GET', '/workshops?order=id'],
      accept: 'application/vnd.garage.card',
      body: "[Quick Fix][Slow & Sure][Nobody's]",
      contentType: 'application/vnd.garage.card',
      range: '0-2/*',
    },
    {
      send: ['GET', '/workshops?order=id.desc&id=lt.3'],
      accept: 'application/vnd.garage.card',
      body: '[Slow & Sure][Quick Fix]',
      contentType: 'application/vnd.garage.card',
      range: '0-1/*',
    },
    {
      send: ['GET', '/workshops?select=id&order=id'],
      accept: 'application/vnd.garage.card',
      status: 406,
      body: fault('PGRST107', 'None of these media types are available: application/vnd.garage.card'),
    },
    {
      send: ['GET', '/workshops?id=eq.9'],
      accept: 'application/vnd.garage.card',
      contentType: 'application/vnd.garage.card',
      range: '*/*',
    },
    {
      send: ['HEAD', '/workshops?order=id'],
      accept: 'application/vnd.garage.card',
      contentType: 'application/vnd.garage.card',
      range: '0-2/*',
    },
    {
      send: ['GET', '/people?id=eq.1'],
      accept: 'application/vnd.garage.card',
      status: 406,
      body: fault('PGRST107', 'None of these media types are available: application/vnd.garage.card'),
    },
    {
      send: ['GET', '/plates?car_id=eq.1'],
      accept: 'text/html',
      body: '<li>{"plate": "AB 12", "car_id": 1}</li>',
      contentType: 'text/html',
      range: '0-0/*',
    },
    {
      send: ['GET', '/raw_people?order=id'],
      body: 'Anna\nBülent\nChloé\nDmitri\n',
      contentType: 'application/octet-stream',
      range: '0-3/*',
    },
    {
      send: ['GET', '/raw_people?order=id'],
      accept: 'image/png',
      body: 'Anna\nBülent\nChloé\nDmitri\n',
      contentType: 'application/octet-stream',
      range: '0-3/*',
    },
    {
      send: ['GET', '/raw_people?order=id'],
      accept: 'application/json',
      body: 'Anna\nBülent\nChloé\nDmitri\n',
      contentType: 'application/octet-stream',
      range: '0-3/*',
    },
    { send: ['GET', '/empty_lot'], accept: 'text/html', contentType: 'text/html', range: '*/*' },
    {
      send: ['GET', '/plates?car_id=eq.1'],
      accept: 'text/plain',
      status: 406,
      body: fault('PGRST107', 'None of these media types are available: text/plain'),
    },
    {
      send: ['GET', '/files?id=eq.1'],
      accept: 'application/octet-stream',
      status: 406,
      body: fault('PGRST107', 'None of these media types are available: application/octet-stream'),
    },

    // quality values
    {
      send: ['GET', '/plates?car_id=eq.1'],
      accept: 'text/csv;q=0.5, application/json;q=0.9',
      body: [{ car_id: 1, plate: 'AB 12' }],
    },
    {
      send: ['GET', '/plates?car_id=eq.1'],
      accept: 'text/csv, application/json',
      body: 'car_id,plate\n1,"AB 12"',
      contentType: 'text/csv; charset=utf-8',
      range: '0-0/*',
    },
    {
      send: ['GET', '/plates?car_id=eq.1'],
      accept: 'image/png, text/csv;q=0.1',
      body: 'car_id,plate\n1,"AB 12"',
      contentType: 'text/csv; charset=utf-8',
      range: '0-0/*',
    },
    {
      send: ['GET', '/plates?car_id=eq.1'],
      accept: 'text/csv;q=0, application/json',
      body: [{ car_id: 1, plate: 'AB 12' }],
    },
    {
      send: ['GET', '/plates?car_id=eq.1'],
      accept: 'text/html;q=0.2, */*;q=0.1',
      body: '<li>{"plate": "AB 12", "car_id": 1}</li>',
      contentType: 'text/html',
      range: '0-0/*',
    },
    { send: ['GET', '/plates?car_id=eq.1'], accept: 'image/png;q=1, */*;q=0.1', body: [{ car_id: 1, plate: 'AB 12' }] },
    {
      send: ['GET', '/plates?car_id=eq.1'],
      accept: 'text/csv;q=0.9, application/vnd.pgrst.object+json',
      body: { car_id: 1, plate: 'AB 12' },
      contentType: 'application/vnd.pgrst.object+json; charset=utf-8',
      range: '0-0/*',
    },

    // unacceptable media types
    {
      send: ['GET', '/plates?car_id=eq.1'],
      accept: 'image/png',
      status: 406,
      body: fault('PGRST107', 'None of these media types are available: image/png'),
    },
    {
      send: ['GET', '/plates?car_id=eq.1'],
      accept: 'image/png, text/calendar',
      status: 406,
      body: fault('PGRST107', 'None of these media types are available: image/png, text/calendar'),
    },
    {
      send: ['GET', '/plates?car_id=eq.1'],
      accept: 'nonsense',
      status: 406,
      body: fault('PGRST107', 'None of these media types are available: nonsense'),
    },
    {
      send: ['GET', '/rpc/add?a=1'],
      accept: 'image/png',
      status: 406,
      body: fault('PGRST107', 'None of these media types are available: image/png'),
    },
    {
      send: ['GET', '/'],
      accept: 'text/csv',
      status: 406,
      body: fault('PGRST107', 'None of these media types are available: text/csv'),
    },
    {
      send: ['GET', '/plates?car_id=eq.1'],
      accept: 'application/vnd.pgrst.object+json;nulls=stripped, image/png',
      body: { car_id: 1, plate: 'AB 12' },
      contentType: 'application/vnd.pgrst.object+json;nulls=stripped; charset=utf-8',
      range: '0-0/*',
    },
    {
      send: ['GET', '/rpc/add?a=1'],
      accept: 'text/plain',
      status: 406,
      body: fault('PGRST107', 'None of these media types are available: text/plain'),
    },
  ],
}
