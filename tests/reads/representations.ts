import { fault, type Topic } from '../support/exchange.ts'

export const representations: Topic = {
  title: 'representations',
  exchanges: [
    // JSON
    [
      '/plates?order=car_id&limit=2',
      {
        json: [
          { car_id: 1, plate: 'AB 12' },
          { car_id: 2, plate: 'CD 34' },
        ],
        headers: { 'Content-Type': 'application/json; charset=utf-8' },
      },
    ],
    [
      { path: '/plates?order=car_id&limit=2', headers: { Accept: 'application/json' } },
      {
        json: [
          { car_id: 1, plate: 'AB 12' },
          { car_id: 2, plate: 'CD 34' },
        ],
        headers: { 'Content-Type': 'application/json; charset=utf-8' },
      },
    ],
    [
      { path: '/plates?order=car_id&limit=2', headers: { Accept: '*/*' } },
      {
        json: [
          { car_id: 1, plate: 'AB 12' },
          { car_id: 2, plate: 'CD 34' },
        ],
        headers: { 'Content-Type': 'application/json; charset=utf-8' },
      },
    ],
    [
      { path: '/plates?order=car_id&limit=2', headers: { Accept: 'application/*' } },
      fault(406, 'PGRST107', 'None of these media types are available: application/*'),
    ],
    [
      { path: '/plates?order=car_id&limit=2', headers: { Accept: 'application/json;charset=utf-8' } },
      {
        json: [
          { car_id: 1, plate: 'AB 12' },
          { car_id: 2, plate: 'CD 34' },
        ],
        headers: { 'Content-Type': 'application/json; charset=utf-8' },
      },
    ],
    [
      { path: '/plates?order=car_id&limit=2', headers: { Accept: 'APPLICATION/JSON' } },
      {
        json: [
          { car_id: 1, plate: 'AB 12' },
          { car_id: 2, plate: 'CD 34' },
        ],
        headers: { 'Content-Type': 'application/json; charset=utf-8' },
      },
    ],
    [
      { path: '/plates?order=car_id&limit=2', headers: { Accept: 'application/vnd.pgrst.array+json' } },
      {
        json: [
          { car_id: 1, plate: 'AB 12' },
          { car_id: 2, plate: 'CD 34' },
        ],
        headers: { 'Content-Type': 'application/json; charset=utf-8' },
      },
    ],
    [
      { path: '/plates?order=car_id&limit=2', headers: { Accept: 'application/vnd.pgrst.array' } },
      {
        json: [
          { car_id: 1, plate: 'AB 12' },
          { car_id: 2, plate: 'CD 34' },
        ],
        headers: { 'Content-Type': 'application/json; charset=utf-8' },
      },
    ],

    // a single object
    [
      { path: '/plates?car_id=eq.1', headers: { Accept: 'application/vnd.pgrst.object+json' } },
      {
        json: { car_id: 1, plate: 'AB 12' },
        headers: { 'Content-Type': 'application/vnd.pgrst.object+json; charset=utf-8' },
      },
    ],
    [
      { path: '/plates?car_id=eq.1', headers: { Accept: 'application/vnd.pgrst.object' } },
      {
        json: { car_id: 1, plate: 'AB 12' },
        headers: { 'Content-Type': 'application/vnd.pgrst.object+json; charset=utf-8' },
      },
    ],
    [
      { path: '/plates?order=car_id&limit=2', headers: { Accept: 'application/vnd.pgrst.object+json' } },
      fault(406, 'PGRST116', 'Cannot coerce the result to a single JSON object', 'The result contains 2 rows'),
    ],
    [
      { path: '/empty_lot', headers: { Accept: 'application/vnd.pgrst.object+json' } },
      fault(406, 'PGRST116', 'Cannot coerce the result to a single JSON object', 'The result contains 0 rows'),
    ],
    [
      { path: '/plates?limit=1&order=car_id', headers: { Accept: 'application/vnd.pgrst.object+json' } },
      {
        json: { car_id: 1, plate: 'AB 12' },
        headers: { 'Content-Type': 'application/vnd.pgrst.object+json; charset=utf-8' },
      },
    ],
    [
      { path: '/rpc/levels', headers: { Accept: 'application/vnd.pgrst.object+json' } },
      fault(406, 'PGRST116', 'Cannot coerce the result to a single JSON object', 'The result contains 5 rows'),
    ],
    [
      { path: '/rpc/add?a=1', headers: { Accept: 'application/vnd.pgrst.object+json' } },
      { json: 11, headers: { 'Content-Type': 'application/vnd.pgrst.object+json; charset=utf-8' } },
    ],
    [
      { path: '/rpc/first_car?select=id', headers: { Accept: 'application/vnd.pgrst.object+json' } },
      { json: { id: 1 }, headers: { 'Content-Type': 'application/vnd.pgrst.object+json; charset=utf-8' } },
    ],
    ['/rpc/no_car?select=id', { json: { id: null }, headers: { 'Content-Type': 'application/json; charset=utf-8' } }],

    // without nulls
    [
      {
        path: '/cars?select=id,mileage,details&id=in.(1,5)&order=id',
        headers: { Accept: 'application/vnd.pgrst.array+json;nulls=stripped' },
      },
      {
        json: [
          { id: 1, mileage: 120000, details: { extras: ['radio', 'hook'], wheels: { rear: 17, front: 16 } } },
          { id: 5, details: { extras: ['sun roof'], wheels: { front: 18 } } },
        ],
        headers: { 'Content-Type': 'application/vnd.pgrst.array+json;nulls=stripped; charset=utf-8' },
      },
    ],
    [
      {
        path: '/cars?select=id,mileage&id=eq.5',
        headers: { Accept: 'application/vnd.pgrst.object+json;nulls=stripped' },
      },
      {
        json: { id: 5 },
        headers: { 'Content-Type': 'application/vnd.pgrst.object+json;nulls=stripped; charset=utf-8' },
      },
    ],
    [
      { path: '/cars?select=id,mileage', headers: { Accept: 'application/vnd.pgrst.object+json;nulls=stripped' } },
      fault(406, 'PGRST116', 'Cannot coerce the result to a single JSON object', 'The result contains 5 rows'),
    ],
    [
      { path: '/cars?select=id,mileage&id=eq.5', headers: { Accept: 'application/json;nulls=stripped' } },
      { json: [{ id: 5, mileage: null }], headers: { 'Content-Type': 'application/json; charset=utf-8' } },
    ],
    [
      {
        path: '/rpc/cars_under?limit_price=4000&select=id,paint',
        headers: { Accept: 'application/vnd.pgrst.array+json;nulls=stripped' },
      },
      {
        json: [{ id: 4 }],
        headers: { 'Content-Type': 'application/vnd.pgrst.array+json;nulls=stripped; charset=utf-8' },
      },
    ],

    // CSV
    [
      { path: '/plates?order=car_id&limit=2', headers: { Accept: 'text/csv' } },
      { text: 'car_id,plate\n1,"AB 12"\n2,"CD 34"', headers: { 'Content-Type': 'text/csv; charset=utf-8' } },
    ],
    [
      { path: '/cars?select=id,label,tags,details,price,mileage&id=gt.3&order=id', headers: { Accept: 'text/csv' } },
      {
        text: 'id,label,tags,details,price,mileage\n4,"a ""quoted"", name","{rust,""old timer""}","{""wheels"": null}",3999,88000\n5,"no\\\\model (yet)",,"{""extras"": [""sun roof""], ""wheels"": {""front"": 18}}",,',
        headers: { 'Content-Type': 'text/csv; charset=utf-8' },
      },
    ],
    [
      { path: '/empty_lot', headers: { Accept: 'text/csv' } },
      { text: '\n', headers: { 'Content-Type': 'text/csv; charset=utf-8' } },
    ],
    [
      { path: '/cars?select=id,models(name)&id=eq.1', headers: { Accept: 'text/csv' } },
      { text: 'id,models\n1,"{""name"": ""V1""}"', headers: { 'Content-Type': 'text/csv; charset=utf-8' } },
    ],
    [
      { path: '/rpc/levels?limit=2', headers: { Accept: 'text/csv' } },
      { text: 'pgrst_scalar\n1\n2', headers: { 'Content-Type': 'text/csv; charset=utf-8' } },
    ],
    [
      { path: '/rpc/cars_under?limit_price=4000&select=id,label', headers: { Accept: 'text/csv' } },
      { text: 'id,label\n4,"a ""quoted"", name"', headers: { 'Content-Type': 'text/csv; charset=utf-8' } },
    ],

    // GeoJSON
    [
      { path: '/plates?select=plate&order=car_id&limit=1', headers: { Accept: 'application/geo+json' } },
      {
        json: { type: 'FeatureCollection', features: [{ type: 'Feature', properties: { plate: 'AB 12' } }] },
        headers: { 'Content-Type': 'application/geo+json; charset=utf-8' },
      },
    ],
    [
      { path: '/empty_lot', headers: { Accept: 'application/geo+json' } },
      { json: { type: 'FeatureCollection', features: [] } },
    ],

    // handlers of the schema
    ['/rpc/motto', { json: 'We fix it.', headers: { 'Content-Type': 'application/json; charset=utf-8' } }],
    [
      { path: '/rpc/motto', headers: { Accept: 'text/plain' } },
      { text: 'We fix it.', headers: { 'Content-Type': 'text/plain; charset=utf-8' } },
    ],
    [
      { path: '/rpc/motto', headers: { Accept: 'application/json' } },
      { json: 'We fix it.', headers: { 'Content-Type': 'application/json; charset=utf-8' } },
    ],
    [
      { path: '/rpc/content_of?file_id=1', headers: { Accept: 'application/octet-stream' } },
      { bytes: '00ff10', headers: { 'Content-Type': 'application/octet-stream' } },
    ],
    [
      '/rpc/content_of?file_id=2',
      { json: '\\x706c61696e', headers: { 'Content-Type': 'application/json; charset=utf-8' } },
    ],
    [
      { path: '/rpc/content_of?file_id=9', headers: { Accept: 'application/octet-stream' } },
      { text: '', headers: { 'Content-Type': 'application/octet-stream' } },
    ],
    ['/rpc/anything', { text: 'OK', headers: { 'Content-Type': 'image/x-own' } }],
    [
      { path: '/rpc/anything', headers: { Accept: 'image/png' } },
      { text: 'OK', headers: { 'Content-Type': 'image/x-own' } },
    ],
    ['/rpc/unnamed', { text: '?', headers: { 'Content-Type': 'application/octet-stream' } }],
    [
      { path: '/rpc/unnamed', headers: { Accept: 'image/png' } },
      { text: '?', headers: { 'Content-Type': 'application/octet-stream' } },
    ],
    [
      { path: '/workshops?order=id', headers: { Accept: 'application/vnd.garage.card' } },
      { text: "[Quick Fix][Slow & Sure][Nobody's]", headers: { 'Content-Type': 'application/vnd.garage.card' } },
    ],
    [
      { path: '/workshops?order=id.desc&id=lt.3', headers: { Accept: 'application/vnd.garage.card' } },
      { text: '[Slow & Sure][Quick Fix]', headers: { 'Content-Type': 'application/vnd.garage.card' } },
    ],
    [
      { path: '/workshops?select=id&order=id', headers: { Accept: 'application/vnd.garage.card' } },
      fault(406, 'PGRST107', 'None of these media types are available: application/vnd.garage.card'),
    ],
    [
      { path: '/workshops?id=eq.9', headers: { Accept: 'application/vnd.garage.card' } },
      { text: '', headers: { 'Content-Type': 'application/vnd.garage.card' } },
    ],
    [
      { method: 'HEAD', path: '/workshops?order=id', headers: { Accept: 'application/vnd.garage.card' } },
      { text: '', headers: { 'Content-Type': 'application/vnd.garage.card', 'Content-Range': '0-2/*' } },
    ],
    [
      { path: '/people?id=eq.1', headers: { Accept: 'application/vnd.garage.card' } },
      fault(406, 'PGRST107', 'None of these media types are available: application/vnd.garage.card'),
    ],
    [
      { path: '/plates?car_id=eq.1', headers: { Accept: 'text/html' } },
      { text: '<li>{"plate": "AB 12", "car_id": 1}</li>', headers: { 'Content-Type': 'text/html' } },
    ],
    [
      '/raw_people?order=id',
      { text: 'Anna\nBülent\nChloé\nDmitri\n', headers: { 'Content-Type': 'application/octet-stream' } },
    ],
    [
      { path: '/raw_people?order=id', headers: { Accept: 'image/png' } },
      { text: 'Anna\nBülent\nChloé\nDmitri\n', headers: { 'Content-Type': 'application/octet-stream' } },
    ],
    [
      { path: '/raw_people?order=id', headers: { Accept: 'application/json' } },
      { text: 'Anna\nBülent\nChloé\nDmitri\n', headers: { 'Content-Type': 'application/octet-stream' } },
    ],
    [
      { path: '/empty_lot', headers: { Accept: 'text/html' } },
      { text: '', headers: { 'Content-Type': 'text/html' } },
    ],
    [
      { path: '/plates?car_id=eq.1', headers: { Accept: 'text/plain' } },
      fault(406, 'PGRST107', 'None of these media types are available: text/plain'),
    ],
    [
      { path: '/files?id=eq.1', headers: { Accept: 'application/octet-stream' } },
      fault(406, 'PGRST107', 'None of these media types are available: application/octet-stream'),
    ],

    // quality values
    [
      { path: '/plates?car_id=eq.1', headers: { Accept: 'text/csv;q=0.5, application/json;q=0.9' } },
      { json: [{ car_id: 1, plate: 'AB 12' }], headers: { 'Content-Type': 'application/json; charset=utf-8' } },
    ],
    [
      { path: '/plates?car_id=eq.1', headers: { Accept: 'text/csv, application/json' } },
      { text: 'car_id,plate\n1,"AB 12"', headers: { 'Content-Type': 'text/csv; charset=utf-8' } },
    ],
    [
      { path: '/plates?car_id=eq.1', headers: { Accept: 'image/png, text/csv;q=0.1' } },
      { text: 'car_id,plate\n1,"AB 12"', headers: { 'Content-Type': 'text/csv; charset=utf-8' } },
    ],
    [
      { path: '/plates?car_id=eq.1', headers: { Accept: 'text/csv;q=0, application/json' } },
      { json: [{ car_id: 1, plate: 'AB 12' }], headers: { 'Content-Type': 'application/json; charset=utf-8' } },
    ],
    [
      { path: '/plates?car_id=eq.1', headers: { Accept: 'text/html;q=0.2, */*;q=0.1' } },
      { text: '<li>{"plate": "AB 12", "car_id": 1}</li>', headers: { 'Content-Type': 'text/html' } },
    ],
    [
      { path: '/plates?car_id=eq.1', headers: { Accept: 'image/png;q=1, */*;q=0.1' } },
      { json: [{ car_id: 1, plate: 'AB 12' }], headers: { 'Content-Type': 'application/json; charset=utf-8' } },
    ],
    [
      { path: '/plates?car_id=eq.1', headers: { Accept: 'text/csv;q=0.9, application/vnd.pgrst.object+json' } },
      {
        json: { car_id: 1, plate: 'AB 12' },
        headers: { 'Content-Type': 'application/vnd.pgrst.object+json; charset=utf-8' },
      },
    ],

    // unacceptable media types
    [
      { path: '/plates?car_id=eq.1', headers: { Accept: 'image/png' } },
      fault(406, 'PGRST107', 'None of these media types are available: image/png'),
    ],
    [
      { path: '/plates?car_id=eq.1', headers: { Accept: 'image/png, text/calendar' } },
      fault(406, 'PGRST107', 'None of these media types are available: image/png, text/calendar'),
    ],
    [
      { path: '/plates?car_id=eq.1', headers: { Accept: 'nonsense' } },
      fault(406, 'PGRST107', 'None of these media types are available: nonsense'),
    ],
    [
      { path: '/rpc/add?a=1', headers: { Accept: 'image/png' } },
      fault(406, 'PGRST107', 'None of these media types are available: image/png'),
    ],
    [
      { path: '/', headers: { Accept: 'text/csv' } },
      fault(406, 'PGRST107', 'None of these media types are available: text/csv'),
    ],
    [
      {
        path: '/plates?car_id=eq.1',
        headers: { Accept: 'application/vnd.pgrst.object+json;nulls=stripped, image/png' },
      },
      {
        json: { car_id: 1, plate: 'AB 12' },
        headers: { 'Content-Type': 'application/vnd.pgrst.object+json;nulls=stripped; charset=utf-8' },
      },
    ],
    [
      { path: '/rpc/add?a=1', headers: { Accept: 'text/plain' } },
      fault(406, 'PGRST107', 'None of these media types are available: text/plain'),
    ],
  ],
}
