import { fault, type RequestTable } from '../../support/request-table.ts'

export const select: RequestTable = {
  title: 'columns',
  rows: [
    // columns, aliases, casts
    {
      send: ['GET', '/plates?order=car_id'],
      body: [
        { car_id: 1, plate: 'AB 12' },
        { car_id: 2, plate: 'CD 34' },
        { car_id: 4, plate: 'ÖK 1' },
      ],
    },
    { send: ['GET', '/plates?select=*&car_id=eq.1'], body: [{ car_id: 1, plate: 'AB 12' }] },
    { send: ['GET', '/plates?select=plate,car_id&car_id=eq.1'], body: [{ plate: 'AB 12', car_id: 1 }] },
    { send: ['GET', '/plates?select=*,plate&car_id=eq.1'], body: [{ car_id: 1, plate: 'AB 12' }] },
    { send: ['GET', '/plates?select=plate,*&car_id=eq.1'], body: [{ plate: 'AB 12', car_id: 1 }] },
    { send: ['GET', '/plates?select=&car_id=eq.1'], body: [{ car_id: 1, plate: 'AB 12' }] },
    { send: ['GET', '/plates?select=number:plate,car:car_id&car_id=eq.1'], body: [{ number: 'AB 12', car: 1 }] },
    {
      send: ['GET', '/cars?select=id::text,price::integer,mileage::bigint&id=eq.2'],
      body: [{ id: '2', price: 15500, mileage: 45000 }],
    },
    { send: ['GET', '/cars?select=a:price::text,b:price&id=eq.2'], body: [{ a: '15500.25', b: 15500.25 }] },
    { send: ['GET', '/cars?select=tags::text&id=eq.1'], body: [{ tags: '{family,diesel}' }] },
    { send: ['GET', '/plates?select=plate,plate&car_id=eq.1'], body: [{ plate: 'AB 12' }] },
    { send: ['GET', '/plates?select= plate , car_id &car_id=eq.1'], body: [{ plate: 'AB 12', car_id: 1 }] },
    {
      send: ['GET', '/plates?select=plate::no_type'],
      status: 400,
      body: fault('42704', 'type "no_type" does not exist'),
    },
    {
      send: ['GET', '/plates?select=nothing'],
      status: 400,
      body: fault('42703', 'column plates.nothing does not exist'),
    },
    { send: ['GET', '/plates?select="plate","car_id"&car_id=eq.1'], body: [{ plate: 'AB 12', car_id: 1 }] },
    {
      send: ['GET', '/plates?select=*,nothing'],
      status: 400,
      body: fault('42703', 'column plates.nothing does not exist'),
    },
    { send: ['GET', '/cars?select=price::text&price=gt.40000'], body: [{ price: '41000' }] },

    // paths into JSON
    {
      send: ['GET', '/models?select=specs->doors,specs->engine->hp,specs->engine->>fuel&id=eq.1'],
      body: [{ doors: 5, hp: 150, fuel: 'petrol' }],
    },
    { send: ['GET', '/models?select=specs->engine&id=eq.2'], body: [{ engine: { hp: 204, fuel: null } }] },
    { send: ['GET', '/models?select=specs->>engine&id=eq.1'], body: [{ engine: '{"hp": 150, "fuel": "petrol"}' }] },
    { send: ['GET', '/models?select=d:specs->doors,hp:specs->engine->>hp&id=eq.1'], body: [{ d: 5, hp: '150' }] },
    { send: ['GET', '/models?select=specs->gears->0,last:specs->gears->>-1&id=eq.1'], body: [{ gears: 1, last: '3' }] },
    { send: ['GET', '/models?select=specs->>odd key&id=eq.1'], body: [{ 'odd key': 'x' }] },
    { send: ['GET', '/models?select=specs->>"odd key"&id=eq.1'], body: [{ 'odd key': 'x' }] },
    { send: ['GET', '/models?select=specs->"we\\"ird"&id=eq.3'], body: [{ 'we"ird': true }] },
    { send: ['GET', '/models?select=specs->>"1"&id=eq.3'], body: [{ '1': 'one' }] },
    { send: ['GET', '/models?select=specs->>1&id=eq.3'], body: [{ specs: null }] },
    { send: ['GET', '/models?select=specs->engine->>hp::integer&id=eq.1'], body: [{ hp: 150 }] },
    { send: ['GET', '/models?select=hp:specs->engine->>hp::integer&id=eq.1'], body: [{ hp: 150 }] },
    { send: ['GET', '/models?select=notes->a->b->>1&id=eq.1'], body: [{ b: '20' }] },
    { send: ['GET', '/models?select=notes->1&id=eq.4'], body: [{ notes: 2 }] },
    { send: ['GET', '/models?select=id,specs->nothing->more&id=eq.1'], body: [{ id: 1, more: null }] },
    { send: ['GET', '/models?select=id&specs->engine->>hp=gt.15&order=id'], body: [{ id: 1 }, { id: 2 }] },
    { send: ['GET', '/models?select=id&specs->>doors=eq.5&order=id'], body: [{ id: 1 }, { id: 3 }] },
    { send: ['GET', '/models?select=id&specs->doors=eq.5&order=id'], body: [{ id: 1 }, { id: 3 }] },
    { send: ['GET', '/models?select=id&specs->engine->fuel=is.null&order=id'], body: [{ id: 3 }, { id: 4 }] },
    {
      send: ['GET', '/models?select=id&specs->engine->>fuel=is.null&order=id'],
      body: [{ id: 2 }, { id: 3 }, { id: 4 }],
    },
    { send: ['GET', '/models?select=id&specs->>odd key=eq.x'], body: [{ id: 1 }] },
    { send: ['GET', '/models?select=id&specs->gears->>0=in.(1,2)&order=id'], body: [{ id: 1 }, { id: 2 }] },
    {
      send: ['GET', '/models?select=id&order=specs->doors.desc.nullslast,id'],
      body: [{ id: 1 }, { id: 3 }, { id: 2 }, { id: 4 }],
    },
    {
      send: ['GET', '/models?select=id&order=specs->engine->>hp.asc.nullsfirst,id'],
      body: [{ id: 3 }, { id: 4 }, { id: 1 }, { id: 2 }],
    },
    {
      send: ['GET', '/models?select=id&or=(specs->>doors.eq.3,specs->"we\\"ird".eq.true)&order=id'],
      body: [{ id: 2 }, { id: 3 }],
    },
    { send: ['GET', '/models?select=id&notes->a->b->>0=eq.10'], body: [{ id: 1 }] },
    { send: ['GET', '/models?select=name->a'], body: [{ a: null }, { a: null }, { a: null }, { a: null }] },
    { send: ['GET', '/models?select=id&name->>a=eq.1'], body: [] },

    // fields of composite types
    { send: ['GET', '/models?select=size&id=eq.1'], body: [{ size: { length: 4700, width: 1850 } }] },
    { send: ['GET', '/models?select=size->length,size->>width&id=eq.1'], body: [{ length: 4700, width: '1850' }] },
    { send: ['GET', '/models?select=id&size->length=gte.4400&order=id'], body: [{ id: 1 }, { id: 4 }] },
    { send: ['GET', '/models?select=id&order=size->>width.desc.nullslast,id&limit=2'], body: [{ id: 4 }, { id: 1 }] },
    {
      send: ['GET', '/makers?select=name_of->>last&id=lt.3&order=id'],
      body: [{ last: 'Olsen' }, { last: 'de Novák' }],
    },
    { send: ['GET', '/makers?select=id&name_of->>first=eq.Ivo'], body: [{ id: 2 }] },
    { send: ['GET', '/cars?select=tags->0,tags->>1&id=eq.4'], body: [{ tags: 'old timer' }] },
    { send: ['GET', '/cars?select=id&tags->>0=eq.family&order=id'], body: [{ id: 1 }, { id: 2 }] },
    { send: ['GET', '/models?select=size->nothing&id=eq.1'], body: [{ nothing: null }] },

    // computed fields
    { send: ['GET', '/cars?select=full_label&id=eq.1'], body: [{ full_label: '1: red wagon' }] },
    {
      send: ['GET', '/cars?select=id,full_label,always_true&id=eq.2'],
      body: [{ id: 2, full_label: '2: blue_wagon', always_true: true }],
    },
    { send: ['GET', '/models?select=worth,w:worth::text&id=eq.1'], body: [{ worth: 24000, w: '24000.0' }] },
    { send: ['GET', '/models?select=id&worth=lt.20000'], body: [{ id: 3 }] },
    { send: ['GET', '/models?select=id&order=worth.desc'], body: [{ id: 4 }, { id: 2 }, { id: 1 }, { id: 3 }] },
    { send: ['GET', '/cars?select=*,full_label&id=eq.99'], body: [] },
    { send: ['GET', '/cars?select=models(name,worth)&id=eq.1'], body: [{ models: { name: 'V1', worth: 24000 } }] },

    // domain representations
    {
      send: ['GET', '/cars?select=id,paint,deposit&order=id'],
      body: [
        { id: 1, paint: '#ff0000', deposit: '€500.00' },
        { id: 2, paint: '#0000ff', deposit: '€1234.56' },
        { id: 3, paint: '#c0c0c0', deposit: null },
        { id: 4, paint: null, deposit: '€0.00' },
        { id: 5, paint: '#000000', deposit: '€0.05' },
      ],
    },
    { send: ['GET', '/cars?select=id&paint=eq.%23ff0000'], body: [{ id: 1 }] },
    { send: ['GET', '/cars?select=id&paint=in.(%230000ff,000000)&order=id'], body: [{ id: 2 }, { id: 5 }] },
    { send: ['GET', '/cars?select=id&paint=gt.%2300ff00&order=id'], body: [{ id: 1 }, { id: 3 }] },
    { send: ['GET', '/cars?select=id&paint=not.eq.%23ff0000&order=id'], body: [{ id: 2 }, { id: 3 }, { id: 5 }] },
    { send: ['GET', '/cars?select=id&paint=is.null'], body: [{ id: 4 }] },
    { send: ['GET', '/cars?select=id&deposit=eq.50000'], body: [{ id: 1 }] },
    { send: ['GET', '/cars?select=c:paint&id=eq.1'], body: [{ c: '#ff0000' }] },
    { send: ['GET', '/cars?select=paint::text&id=eq.1'], body: [{ paint: '"#ff0000"' }] },
    {
      send: ['GET', '/people?select=id,owned:cars!car_owner(paint,deposit)&id=eq.2'],
      body: [{ id: 2, owned: [{ paint: '#0000ff', deposit: '€1234.56' }] }],
    },
    {
      send: ['GET', '/people?select=id,cars!car_owner!inner(id)&cars.paint=eq.%23c0c0c0'],
      body: [{ id: 1, cars: [{ id: 3 }] }],
    },
    { send: ['GET', '/models?select=id,...cars!inner(paint)&id=eq.3'], body: [{ id: 3, paint: [null] }] },
    {
      send: ['GET', '/cars?paint=eq.%23gg'],
      status: 400,
      body: fault('22P02', '"g" is not a valid hexadecimal digit'),
    },
    {
      send: ['GET', '/cars?select=id&or=(paint.eq.%23ff0000,paint.eq.%230000ff)&order=id'],
      body: [{ id: 1 }, { id: 2 }],
    },
    {
      send: ['GET', '/cars?select=id&order=paint.desc.nullslast'],
      body: [{ id: 1 }, { id: 3 }, { id: 2 }, { id: 5 }, { id: 4 }],
    },
    {
      send: ['GET', '/cars?select=id,paint,deposit&id=lt.3&order=id'],
      accept: 'text/csv',
      body: 'id,paint,deposit\n1,"""#ff0000""","""€500.00"""\n2,"""#0000ff""","""€1234.56"""',
      contentType: 'text/csv; charset=utf-8',
      range: '0-1/*',
    },
    { send: ['GET', '/rpc/first_car?select=id,paint'], body: { id: 1, paint: '#ff0000' }, range: '0-0/*' },
    { send: ['GET', '/listings?select=id&asking=lt.10000'], body: [{ id: 1 }] },
    {
      send: ['GET', '/people?select=id,owned:cars!car_owner(c:paint)&owned.order=id&id=eq.1'],
      body: [{ id: 1, owned: [{ c: '#ff0000' }, { c: '#c0c0c0' }] }],
    },

    // order
    {
      send: ['GET', '/cars?select=id&order=price.desc'],
      body: [{ id: 5 }, { id: 3 }, { id: 2 }, { id: 1 }, { id: 4 }],
    },
    { send: ['GET', '/cars?select=id&order=price.asc'], body: [{ id: 4 }, { id: 1 }, { id: 2 }, { id: 3 }, { id: 5 }] },
    {
      send: ['GET', '/cars?select=id&order=price.desc.nullslast'],
      body: [{ id: 3 }, { id: 2 }, { id: 1 }, { id: 4 }, { id: 5 }],
    },
    {
      send: ['GET', '/cars?select=id&order=price.nullsfirst'],
      body: [{ id: 5 }, { id: 4 }, { id: 1 }, { id: 2 }, { id: 3 }],
    },
    {
      send: ['GET', '/cars?select=id&order=sold.asc.nullsfirst,price.desc.nullslast'],
      body: [{ id: 3 }, { id: 1 }, { id: 5 }, { id: 2 }, { id: 4 }],
    },
    {
      send: ['GET', '/cars?select=id&order=full_label.desc'],
      body: [{ id: 5 }, { id: 4 }, { id: 3 }, { id: 2 }, { id: 1 }],
    },
    {
      send: ['GET', '/cars?select=id,l:label&order=label'],
      body: [
        { id: 4, l: 'a "quoted", name' },
        { id: 2, l: 'blue_wagon' },
        { id: 5, l: 'no\\model (yet)' },
        { id: 1, l: 'red wagon' },
        { id: 3, l: 'silver 100%' },
      ],
    },
    {
      send: ['GET', '/cars?select=id&order=nothing'],
      status: 400,
      body: fault('42703', 'column cars.nothing does not exist'),
    },
  ],
}
