// The rows of the request tables that Citus answers differently from one server, and why.

export type ListedRow = {
  readonly table: string
  /** As `titleOf` writes it. */
  readonly row: string
  /** The body on Citus, if it is that which differs. */
  readonly body?: unknown
}

export type ListedDifference = {
  readonly reason: string
  readonly status: number
  /** The error of Citus, without numbers of shards. */
  readonly error?: {
    readonly code: string
    readonly message: string
    readonly details?: string
    readonly hint?: string
  }
  readonly rows: readonly ListedRow[]
}

export const listedDifferences: readonly ListedDifference[] = [
  {
    reason:
      'Computed fields and relationships: a row of a shard has another type, and Citus does not create such functions on the workers.',
    status: 404,
    error: {
      code: '42883',
      message: 'function garage.full_label(garage.cars) does not exist',
      hint: 'No function matches the given name and argument types. You might need to add explicit type casts.',
    },
    rows: [
      { table: 'reads: conditions', row: 'GET · /cars?select=id&full_label=eq.1: red wagon' },
      {
        table: 'reads: logic trees',
        row: 'GET · /cars?select=id&or=(full_label.eq."1: red wagon",always_true.is.false)',
      },
      { table: 'reads: columns', row: 'GET · /cars?select=full_label&id=eq.1' },
      { table: 'reads: columns', row: 'GET · /cars?select=id,full_label,always_true&id=eq.2' },
      { table: 'reads: columns', row: 'GET · /cars?select=*,full_label&id=eq.99' },
      { table: 'reads: columns', row: 'GET · /cars?select=id&order=full_label.desc' },
      { table: 'reads: aggregates', row: 'GET · /cars?select=full_label.max()' },
    ],
  },
  {
    reason: 'Embeds of rows of several shards in rows that are not distributed.',
    status: 400,
    error: {
      code: '0A000',
      message: 'cannot perform a lateral outer join when a distributed subquery references a reference table',
    },
    rows: [
      {
        table: 'reads: logic trees',
        row: 'GET · /people?select=id,cars!car_owner(id)&cars.or=(id.eq.1,sold.is.true)&cars.order=id&order=id&limit=2',
      },
      {
        table: 'reads: logic trees',
        row: 'GET · /people?select=id,cars!car_owner(id)&cars.not.and=(sold.is.true,id.gt.0)&cars.order=id&order=id&limit=2',
      },
      {
        table: 'reads: logic trees',
        row: 'GET · /people?select=id,cars!car_owner(id,repairs(cost))&cars.repairs.or=(cost.lt.100,cost.gt.900)&cars.id=lt.3&id=lt.3&order=id',
      },
      { table: 'reads: columns', row: 'GET · /people?select=id,owned:cars!car_owner(paint,deposit)&id=eq.2' },
      { table: 'reads: columns', row: 'GET · /people?select=id,owned:cars!car_owner(c:paint)&owned.order=id&id=eq.1' },
      { table: 'reads: aggregates', row: 'GET · /models?select=name,cars(price.sum(),sold)&cars.order=sold&order=id' },
      { table: 'reads: aggregates', row: 'GET · /models?select=name,cars(count())&order=id' },
      { table: 'reads: aggregates', row: 'GET · /workshops?select=name,cars(mileage.max())&order=id' },
      { table: 'reads: aggregates', row: 'GET · /makers?select=name,models(price.avg()::int,cars(count()))&id=eq.3' },
      { table: 'reads: aggregates', row: 'GET · /people?select=n:count(),cars!car_owner(count())&id=eq.1' },
      { table: 'reads: aggregates', row: 'GET · /models?select=name,cars(...people!car_owner(id.count()))&id=eq.1' },
      {
        table: 'reads: embeds',
        row: 'GET · /makers?select=name,models(name,cars(id))&id=eq.1&models.order=id&models.cars.order=id',
      },
      { table: 'reads: embeds', row: 'GET · /workshops?select=name,cars(id)&cars.order=id&order=id' },
      { table: 'reads: embeds', row: 'GET · /models?select=name,listings(title)&listings.order=id&id=lt.3&order=id' },
      { table: 'reads: embeds', row: 'GET · /model_names?select=name,cars(id)&model_key=eq.3' },
      { table: 'reads: embeds', row: 'GET · /people?select=id,cars!driver_id(id)&id=eq.2&cars.order=id' },
      {
        table: 'reads: conditions, order and limits of embeds',
        row: 'GET · /makers?select=id,models(id,cars(id))&models.cars.order=id.desc&models.cars.limit=1&models.order=id&id=eq.1',
      },
      {
        table: 'reads: spread embeds',
        row: 'GET · /workshops?select=name,...cars(cars:id,labels:label)&cars.order=id&order=id',
      },
      {
        table: 'reads: spread embeds',
        row: 'GET · /makers?select=id,...models(names:name,cars(id))&models.order=id&models.cars.order=id&id=eq.1',
      },
      {
        table: 'reads: spread embeds',
        row: 'GET · /makers?select=id,...models(names:name,...cars(cars:id))&models.order=id&models.cars.order=id&id=eq.1',
      },
      {
        table: 'reads: spread embeds',
        row: 'GET · /models?select=id,...cars(colours:paint,deposits:deposit)&cars.order=id&id=eq.1',
      },
      {
        table: 'reads: spread embeds',
        row: 'GET · /people?select=name,...cars!car_owner(car:id,...models(model:name))&cars.order=id&id=eq.1',
      },
      { table: 'reads: db-max-rows', row: 'GET · /workshops?select=id,repairs(car_id)&repairs.order=car_id&id=eq.1' },
      {
        table: 'distinct rows: distinct rows',
        row: 'GET · /clients?select=city,orders(status)&orders.order=id&orders.limit=1&distinct=on.*&order=id',
      },
      {
        table: 'distinct rows: embeds',
        row: 'GET · /clients?select=name,orders(status)&orders.distinct=on.*&orders.order=status&order=id&limit=2',
      },
      {
        table: 'distinct rows: embeds',
        row: 'GET · /clients?select=name,...orders(status)&orders.distinct=on.(status)&orders.order=id.desc&id=in.(1,2)&order=id',
      },
      {
        table: 'distinct rows: embeds',
        row: 'GET · /clients?select=name,orders(status,amount.sum())&orders.having=amount.sum().gt.25&order=id',
      },
      {
        table: 'distinct rows: embeds',
        row: 'GET · /clients?select=name,orders(seller,status.count(distinct))&orders.order=seller&id=lt.3&order=id',
      },
    ],
  },
  {
    reason:
      'Computed fields and relationships: a row of a shard has another type, and Citus does not create such functions on the workers.',
    status: 404,
    error: {
      code: '42883',
      message: 'function garage.worth(models) does not exist',
      hint: 'No function matches the given name and argument types. You might need to add explicit type casts.',
    },
    rows: [
      { table: 'reads: columns', row: 'GET · /models?select=worth,w:worth::text&id=eq.1' },
      { table: 'reads: columns', row: 'GET · /models?select=id&worth=lt.20000' },
      { table: 'reads: columns', row: 'GET · /models?select=id&order=worth.desc' },
      { table: 'reads: aggregates', row: 'GET · /models?select=worth.sum()' },
    ],
  },
  {
    reason:
      'Computed fields and relationships: a row of a shard has another type, and Citus does not create such functions on the workers.',
    status: 404,
    error: {
      code: '42883',
      message: 'function garage.worth(garage.models) does not exist',
      hint: 'No function matches the given name and argument types. You might need to add explicit type casts.',
    },
    rows: [{ table: 'reads: columns', row: 'GET · /cars?select=models(name,worth)&id=eq.1' }],
  },
  {
    reason: 'Embeds of rows of several shards in rows that are not distributed.',
    status: 400,
    error: {
      code: '0A000',
      message: 'cannot push down this subquery',
      details:
        'Aggregates without group by are currently unsupported when a lateral subquery references a column from a reference table (people)',
    },
    rows: [
      { table: 'reads: columns', row: 'GET · /people?select=id,cars!car_owner!inner(id)&cars.paint=eq.%23c0c0c0' },
      { table: 'reads: embeds', row: 'GET · /people?select=id,cars!car_owner!inner(id)&cars.sold=is.true&order=id' },
    ],
  },
  {
    reason: 'Embeds of rows of several shards in rows that are not distributed.',
    status: 400,
    error: {
      code: '0A000',
      message: 'cannot push down this subquery',
      details:
        'Aggregates without group by are currently unsupported when a lateral subquery references a column from a reference table (models)',
    },
    rows: [{ table: 'reads: columns', row: 'GET · /models?select=id,...cars!inner(paint)&id=eq.3' }],
  },
  {
    reason: 'Joins by other columns than those that decide on the shard.',
    status: 400,
    error: {
      code: '0A000',
      message:
        'complex joins are only supported when all distributed tables are co-located and joined on their distribution columns',
    },
    rows: [
      {
        table: 'reads: embeds',
        row: 'GET · /people?select=name,owns:cars!car_owner(id),drives:cars!driver_id(id),lent:cars!lends(id)&owns.order=id&drives.order=id&lent.order=id&order=id',
      },
      { table: 'reads: embeds', row: 'GET · /cars?select=id,maker_models(maker)&id=eq.1' },
      {
        table: 'nested writes: relationships',
        row: 'POST · /orders?select=reference,tags(name),order_tags(order_id) · {"id":2,"reference":"T","tags":[{"name":"red"},{"name":"blue"}]} · return=representation · many-to-many with the rows of the junction',
      },
    ],
  },
  {
    reason: 'Embeds of rows of several shards in rows that are not distributed.',
    status: 400,
    error: {
      code: '0A000',
      message:
        'cannot perform a lateral outer join when a distributed subquery references complex subqueries, CTEs or local tables',
    },
    rows: [
      { table: 'reads: embeds', row: 'GET · /maker_models?select=model,cars(id)&model_id=eq.1&cars.order=id' },
      {
        table: 'writes: answers',
        row: 'POST · /vehicles?select=id,makes(name),fittings(part) · {"id":80,"make_id":3} · return=representation, count=exact · embeds of inserted rows',
      },
      {
        table: 'writes: updates',
        row: 'PATCH · /vehicles?id=eq.2&select=colour,makes(name),fittings(part) · {"make_id":3,"colour":null} · return=representation',
      },
      {
        table: 'writes: updates',
        row: 'PATCH · /vehicles?select=id,fittings(part)&fittings.part=eq.hook&id=lte.2&order=id · {"doors":1} · return=representation · filters on embeds do not select rows to write',
      },
      {
        table: 'nested writes: relationships',
        row: 'POST · /orders?select=reference,shipments(carrier) · {"reference":"S","shipments":{"carrier":"mail"}} · return=representation · one-to-one from both sides',
      },
      {
        table: 'nested writes: relationships',
        row: 'POST · /orders?select=reference,shipments(carrier) · {"reference":"S","shipments":null} · return=representation',
      },
      {
        table: 'nested upserts: merging',
        row: 'POST · /orders?select=id,tags(name)&tags.order=name · [{"id":8,"tags":[{"id":1},{"id":2,"name":"green"}]},{"id":9,"tags":[{"name":"new"},{"id":1}]}] · resolution=merge-duplicates, return=representatio',
      },
      {
        table: 'nested upserts: merging',
        row: 'POST · /orders?select=order_tags(tag_id) · {"id":1,"tags":[{"id":1}]} · resolution=merge-duplicates, return=representation · a pair of the junction that exists',
      },
    ],
  },
  {
    reason: 'Functions that return rows, for the rows of several shards.',
    status: 400,
    error: {
      code: '0A000',
      message: 'cannot push down this subquery',
      details: 'Only immutable functions can be used as a table expressions in a multi-shard query',
    },
    rows: [
      { table: 'reads: embeds', row: 'GET · /cars?select=id,maker_of(name)&order=id' },
      { table: 'reads: embeds', row: 'GET · /cars?select=id,maker:maker_of!inner(name)&maker.name=eq.Aurelia' },
    ],
  },
  {
    reason: 'Functions of SQL that read distributed tables.',
    status: 400,
    error: {
      code: '0A000',
      message:
        'cannot perform distributed planning on this query because parameterized queries for SQL functions referencing distributed tables are not supported',
      hint: 'Consider using PL/pgSQL functions instead.',
    },
    rows: [
      { table: 'reads: embeds', row: 'GET · /makers?select=name,cars_of(id,maker_of(name))&id=eq.1&cars_of.order=id' },
      { table: 'reads: embeds', row: 'GET · /people?select=name,plates(plate)&order=id' },
      { table: 'reads: embeds', row: 'GET · /makers?select=id,cars_of(id)&cars_of.mileage=gt.100000&id=eq.1' },
      { table: 'reads: embeds', row: 'GET · /rpc/cars_under?limit_price=10000&select=id,models(name)&order=id' },
      {
        table: 'reads: embeds',
        row: 'GET · /rpc/cars_under?limit_price=20000&select=id,repairs!inner(cost)&repairs.cost=lt.100',
      },
      {
        table: 'reads: spread embeds',
        row: 'GET · /makers?select=id,...cars_of(labels:label)&cars_of.order=id&id=eq.1',
      },
      { table: 'reads: db-max-rows', row: 'GET · /makers?select=id,cars_of(id)&cars_of.order=id&id=eq.1' },
      {
        table: 'writes: asked',
        row: 'GET · /rpc/gives_vehicles?select=id,fittings(part)&id=lt.3&order=id.desc&fittings.order=part',
      },
    ],
  },
  {
    reason:
      'Computed fields and relationships: a row of a shard has another type, and Citus does not create such functions on the workers.',
    status: 404,
    error: {
      code: '42883',
      message: 'function garage.lends(garage.people) does not exist',
      hint: 'No function matches the given name and argument types. You might need to add explicit type casts.',
    },
    rows: [{ table: 'reads: embeds', row: 'GET · /people?select=id,lends(car_id)&order=id' }],
  },
  {
    reason: 'Embeds of rows of several shards in rows that are not distributed.',
    status: 400,
    error: {
      code: '0A000',
      message: 'cannot push down this subquery',
      details:
        'Aggregates without group by are currently unsupported when a lateral subquery references a column from a reference table (workshops)',
    },
    rows: [
      {
        table: 'reads: embeds',
        row: 'GET · /workshops?select=id,cars!inner(id,plates!inner(plate))&cars.plates.plate=like.C*',
      },
    ],
  },
  {
    reason:
      'Computed fields and relationships: a row of a shard has another type, and Citus does not create such functions on the workers.',
    status: 404,
    error: {
      code: '42883',
      message: 'function garage.maker_of(garage.cars) does not exist',
      hint: 'No function matches the given name and argument types. You might need to add explicit type casts.',
    },
    rows: [{ table: 'reads: spread embeds', row: 'GET · /cars?select=id,...maker_of(maker:name)&id=eq.1' }],
  },
  {
    reason: 'Whole rows as results of several shards.',
    status: 400,
    error: { code: '0A000', message: 'input of anonymous composite types is not implemented' },
    rows: [
      {
        table: 'reads: representations',
        row: 'GET · /plates?order=car_id&limit=2 · application/vnd.pgrst.object+json',
      },
      {
        table: 'reads: representations',
        row: 'GET · /plates?limit=1&order=car_id · application/vnd.pgrst.object+json',
      },
      {
        table: 'reads: representations',
        row: 'GET · /cars?select=id,mileage · application/vnd.pgrst.object+json;nulls=stripped',
      },
    ],
  },
  {
    reason: 'A row without a value in the column that decides on its shard.',
    status: 400,
    error: { code: '22004', message: 'the partition column of table garage.tags should have a value' },
    rows: [
      { table: 'writes: bodies', row: 'POST · /tags · []' },
      { table: 'writes: bodies', row: 'POST · /tags · [] · return=representation' },
      { table: 'writes: answers', row: 'POST · /tags · [] · return=headers-only' },
      { table: 'writes: answers', row: 'POST · /tags · [] · count=exact' },
    ],
  },
  {
    reason: 'A row without a value in the column that decides on its shard.',
    status: 400,
    error: { code: '22004', message: 'the partition column of table garage.notes should have a value' },
    rows: [
      { table: 'writes: bodies', row: 'POST · /notes · {} · return=representation' },
      { table: 'writes: bodies', row: 'POST · /notes · [{},{}] · return=representation' },
      { table: 'writes: bodies', row: 'POST · /notes · "text" · return=representation · scalars are not rows' },
      { table: 'writes: bodies', row: 'POST · /notes · null · return=representation' },
      {
        table: 'writes: bodies',
        row: 'POST · /notes · {"level": 1, "level": 2} · return=representation · of duplicate keys the last value is used',
      },
      {
        table: 'writes: csv and forms',
        row: 'POST · /notes · message,level\n · return=representation · text/csv · a header line only',
      },
      { table: 'writes: csv and forms', row: 'POST · /notes · level\nmany · text/csv' },
    ],
  },
  {
    reason: 'A row without a value in the column that decides on its shard.',
    status: 400,
    error: { code: '22004', message: 'the partition column of table garage.notes cannot be NULL' },
    rows: [
      {
        table: 'writes: csv and forms',
        row: 'POST · /notes · message,level\n"a, b",1\nNULL,2\n,3\n · return=representation · text/csv',
      },
      {
        table: 'writes: columns',
        row: 'POST · /notes?columns=message,level · [{"message": "a"}, {"level": 3}] · return=representation · missing values are null',
      },
      {
        table: 'writes: columns',
        row: 'POST · /notes?columns=message,level · [{"message": "a"}, {"level": 3}, {"level": null}] · missing=default, return=representation',
      },
      { table: 'writes: columns', row: 'POST · /notes?columns=message · {} · missing=null, return=minimal' },
    ],
  },
  {
    reason:
      'Computed fields and relationships: a row of a shard has another type, and Citus does not create such functions on the workers.',
    status: 404,
    error: {
      code: '42883',
      message: 'function garage.loud_plate(garage.vehicles) does not exist',
      hint: 'No function matches the given name and argument types. You might need to add explicit type casts.',
    },
    rows: [
      {
        table: 'writes: answers',
        row: 'POST · /vehicles?select=key:id::text,loud_plate,...makes(make:name) · {"id":81,"plate":"low","make_id":1} · return=representation',
      },
    ],
  },
  {
    reason: 'Full-text search converts the column with a function that is stable.',
    status: 400,
    error: {
      code: '0A000',
      message: 'STABLE functions used in UPDATE queries cannot be called with column references',
    },
    rows: [
      {
        table: 'writes: filtered',
        row: 'PATCH · /vehicles?colour=fts.blue&select=plate · {"doors":2} · return=representation',
      },
      { table: 'writes: filtered', row: 'DELETE · /vehicles?colour=fts.blue&select=plate · return=representation' },
    ],
  },
  {
    reason: 'Changes of the column that decides on the shard.',
    status: 400,
    error: { code: '0A000', message: 'modifying the partition value of rows is not allowed' },
    rows: [
      { table: 'writes: updates', row: 'PATCH · /notes?level=eq.1 · {"message":"x"}' },
      {
        table: 'writes: updates',
        row: 'PATCH · /notes?level=eq.1&columns=message · {"message":"m","level":5,"more":1} · return=representation',
      },
      {
        table: 'writes: updates',
        row: 'PATCH · /notes?level=eq.1&columns=message,level · {"message":"m"} · return=representation',
      },
      {
        table: 'writes: updates',
        row: 'PATCH · /notes?level=eq.1&columns=message,level · {"message":"m"} · missing=default, return=representation',
      },
      {
        table: 'writes: updates',
        row: 'PATCH · /notes?level=eq.1 · message=m&level=4 · return=representation · application/x-www-form-urlencoded',
      },
      {
        table: 'writes: updates',
        row: 'PATCH · /notes?level=eq.1 · message,level\nNULL,4 · return=representation · text/csv',
      },
    ],
  },
  {
    reason: 'Internal errors of Citus: views with triggers, and policies that allow no row.',
    status: 500,
    error: { code: 'XX000', message: 'relation plates is not distributed' },
    rows: [
      { table: 'writes: updates', row: 'PATCH · /plates?id=eq.1 · {"name":"P"} · return=representation' },
      { table: 'writes: deletes', row: 'DELETE · /plates?id=eq.3 · return=representation' },
    ],
  },
  {
    reason: 'Changes of the rows of a view.',
    status: 400,
    error: { code: '0A000', message: 'cannot modify views when the query contains citus tables' },
    rows: [{ table: 'writes: updates', row: 'PATCH · /red_vehicles?id=eq.1 · {"colour":"blue"}' }],
  },
  {
    reason: 'Internal errors of Citus: views with triggers, and policies that allow no row.',
    status: 500,
    error: { code: 'XX000', message: 'could not find valid entry for shard 0' },
    rows: [
      { table: 'writes: updates', row: 'PATCH · /secrets · {"value":"x"} · garage_clerk' },
      { table: 'writes: deletes', row: 'DELETE · /secrets · return=representation · garage_clerk' },
    ],
  },
  {
    reason:
      'Local tables whose policies, triggers or foreign keys read reference tables that the same transaction has written, on another connection of Citus.',
    status: 500,
    error: {
      code: '40P01',
      message: 'canceling the transaction since it was involved in a distributed deadlock',
      details: '/lines/0',
    },
    rows: [
      {
        table: 'nested writes: relationships',
        row: 'POST · /orders?select=id,reference,owner,total,customers(name,note),lines(id,order_id,sku,price) · {"id":1,"reference":"A-1","customers":{"name":"Ada"},"lines":[{"id":10,"sku":"nut","price":1.5,"quant',
      },
      {
        table: 'nested writes: relationships',
        row: 'POST · /orders?select=customers(credit),lines(price,doc) · {"customers":{"name":"Eve","credit":12345678901234567890.12345},"lines":[{"sku":"s","price":1.50,"doc":{"n":12345678901234567890,"t":"]}\\""}}',
      },
      {
        table: 'nested writes: preferences',
        row: 'POST · /orders · {"id":5,"customers":{"name":"Ada"},"lines":[{"sku":"a","price":1}]} · return=minimal',
      },
      {
        table: 'nested writes: preferences',
        row: 'POST · /orders · {"id":5,"lines":[{"sku":"a","price":1}]} · return=headers-only, count=exact',
      },
      {
        table: 'nested writes: preferences',
        row: 'POST · /orders?select=id,lines(sku) · {"id":5,"lines":[{"sku":"a","price":1}]} · return=representation · application/vnd.pgrst.object+json · one object',
      },
      {
        table: 'nested writes: errors of the database have pointers into the body',
        row: 'POST · /orders · {"lines":[{"sku":"a","price":1},{"sku":"b","price":"cheap"}]} · return=representation · a value of another type',
      },
      {
        table: 'nested writes: errors of the database have pointers into the body',
        row: 'POST · /orders · {"lines":[{"sku":"a","price":1},{"sku":"b","price":-7}]} · return=representation · a check',
      },
      {
        table: 'nested writes: errors of the database have pointers into the body',
        row: 'POST · /orders · {"id":3,"lines":[{"sku":"a","price":1},{"sku":"a","price":2}]} · return=representation · a row twice',
      },
      {
        table: 'nested writes: errors of the database have pointers into the body',
        row: 'POST · /orders · {"lines":[{"sku":"a","price":1,"line_notes":[{"number":1,"message":"xxxxxxxxxxxxx"}]}]} · return=representation · a text that is too long',
      },
      {
        table: 'nested upserts: merging',
        row: 'POST · /orders?on_conflict=reference&select=id,lines(sku) · {"reference":"A","lines":[{"sku":"m","price":1}]} · resolution=merge-duplicates, return=representation · rows are identified by on_conflict ',
      },
    ],
  },
  {
    reason:
      'Local tables whose policies, triggers or foreign keys read reference tables that the same transaction has written, on another connection of Citus.',
    status: 500,
    error: {
      code: '40P01',
      message: 'canceling the transaction since it was involved in a distributed deadlock',
      details: '/0/lines/0',
    },
    rows: [
      {
        table: 'nested writes: relationships',
        row: 'POST · /orders?select=reference,lines(sku,line_notes(number,message))&lines.order=sku · [{"reference":"one","lines":[{"sku":"a","price":1,"line_notes":[{"number":1,"message":"x"}]}]},{"reference":"two',
      },
      {
        table: 'nested writes: preferences',
        row: 'POST · /orders?select=id · [{"id":5,"lines":[{"sku":"a","price":1}]},{"id":6,"lines":[]}] · return=representation, count=exact',
      },
      {
        table: 'nested writes: preferences',
        row: 'POST · /orders?select=id · [{"id":5,"lines":[{"sku":"a","price":1}]},{"id":6,"lines":[]}] · return=representation · application/vnd.pgrst.object+json',
      },
      {
        table: 'nested writes: preferences',
        row: 'POST · /orders?select=id,reference,customers(name),lines(sku)&columns="id","reference","customers","lines" · [{"id":5,"lines":[{"sku":"a","price":1}],"unknown":1},{"id":6,"reference":"x","customers":{',
      },
      {
        table: 'nested writes: preferences',
        row: 'POST · /orders?select=id,owner,customer_id,lines(sku)&columns=id,owner,customer_id,customers,lines · [{"id":5,"lines":[{"sku":"a","price":1}]},{"id":6,"owner":"alice","customers":null}] · return=repre',
      },
      {
        table: 'nested upserts: ignoring',
        row: 'POST · /orders?on_conflict=reference&select=id,lines(sku)&order=id · [{"id":7,"reference":null,"lines":[{"sku":"seven","price":1}]},{"id":8,"reference":"A","lines":[{"sku":"ignored","price":1}]},{"id"',
      },
    ],
  },
  {
    reason:
      'Local tables whose policies, triggers or foreign keys read reference tables that the same transaction has written, on another connection of Citus.',
    status: 500,
    error: {
      code: '40P01',
      message: 'canceling the transaction since it was involved in a distributed deadlock',
      details: '/cheap:lines/0',
    },
    rows: [
      {
        table: 'nested writes: relationships',
        row: 'POST · /orders?select=lines(sku) · {"cheap:lines":[{"sku":"a","price":1}],"dear:lines":[{"sku":"b","price":99}]} · return=representation · the same relationship twice, under two aliases',
      },
    ],
  },
  {
    reason:
      'Local tables whose policies, triggers or foreign keys read reference tables that the same transaction has written, on another connection of Citus.',
    status: 500,
    error: {
      code: '40P01',
      message: 'canceling the transaction since it was involved in a distributed deadlock',
      details: '/1/lines/0',
    },
    rows: [
      {
        table: 'nested writes: errors of the database have pointers into the body',
        row: 'POST · /orders · [{"lines":[]},{"lines":[{"sku":"a","price":1},{"sku":"b","price":null}]}] · return=representation · a column that has no value',
      },
      {
        table: 'nested upserts: merging',
        row: 'POST · /orders?select=id,lines(sku) · [{"id":1,"lines":[]},{"id":7,"lines":[{"sku":"n","price":1}]}] · resolution=merge-duplicates, return=representation · one order that exists and a new one',
      },
      {
        table: 'nested upserts: ignoring',
        row: 'POST · /orders?select=id,lines(sku) · [{"id":1,"lines":[{"sku":"ignored","price":1}],"tags":[{"name":"ignored"}]},{"id":7,"lines":[{"sku":"n","price":1}],"tags":[{"id":2,"name":"ignored"}]}] · resolut',
      },
    ],
  },
  {
    reason: 'Internal errors of Citus: views with triggers, and policies that allow no row.',
    status: 500,
    error: {
      code: 'XX000',
      message: 'insert or update on table "order_tags" violates foreign key constraint "order_tags_tag_id_fkey"',
      details: '/orders/0/order_tags/0: Key (tag_id)=(1) is not present in table "tags".',
    },
    rows: [
      {
        table: 'nested writes: errors of the database have pointers into the body',
        row: 'POST · /customers · {"name":"x","orders":[{"order_tags":[{"tag_id":1},{"tag_id":2}]}]} · return=representation · a foreign key',
      },
    ],
  },
  {
    reason:
      'Local tables whose policies, triggers or foreign keys read reference tables that the same transaction has written, on another connection of Citus.',
    status: 500,
    error: {
      code: '40P01',
      message: 'canceling the transaction since it was involved in a distributed deadlock',
      details: '/lines/1',
    },
    rows: [
      {
        table: 'nested upserts: merging',
        row: 'POST · /orders?select=id,reference,lines(id,sku,price)&lines.order=sku · {"id":1,"reference":"A2","lines":[{"id":1000,"sku":"a","price":5},{"id":1002,"sku":"z","price":6}]} · resolution=merge-duplicat',
      },
    ],
  },
  {
    reason: 'Nested writes to tables with row-level security.',
    status: 400,
    error: {
      code: '0A000',
      message: 'COPY FROM not supported with row-level security',
      details: '/orders/0',
      hint: 'Use INSERT statements instead.',
    },
    rows: [
      {
        table: 'nested upserts: two users',
        row: 'POST · /customers · {"name":"x","orders":[{"owner":"bob","lines":[]}]} · return=representation · an order for another user',
      },
    ],
  },
  {
    reason:
      'Citus reads the tables that foreign keys refer to as the role of the request, and does not create privileges on columns on the workers.',
    status: 403,
    error: { code: '42501', message: 'permission denied for table customers' },
    rows: [
      {
        table: 'nested upserts: privileges',
        row: 'POST · /orders · {"lines":[{"sku":"a","price":1}]} · return=minimal · no privilege on a related table',
      },
    ],
  },
  {
    reason:
      'Citus reads the tables that foreign keys refer to as the role of the request, and does not create privileges on columns on the workers.',
    status: 403,
    error: { code: '42501', message: 'permission denied for table customers', details: '/orders' },
    rows: [
      {
        table: 'nested upserts: privileges',
        row: 'POST · /shipments · {"carrier":"mail","orders":{}} · return=minimal · no privilege on the junction',
      },
    ],
  },
  {
    reason:
      'Citus reads the tables that foreign keys refer to as the role of the request, and does not create privileges on columns on the workers.',
    status: 403,
    error: { code: '42501', message: 'permission denied for table tags', details: '/tags' },
    rows: [
      {
        table: 'nested upserts: privileges',
        row: 'POST · /log · {"message":"x","tags":{"name":"new"}} · return=minimal · privileges to insert, and to read nothing but keys',
      },
    ],
  },
  {
    reason: 'Embeds of rows of several shards in rows that are not distributed.',
    status: 400,
    error: {
      code: '0A000',
      message: 'cannot push down this subquery',
      details:
        'Aggregates without group by are currently unsupported when a lateral subquery references a column from a reference table (clients)',
    },
    rows: [
      {
        table: 'distinct rows: the count of distinct rows and of groups',
        row: 'GET · /clients?select=name,orders!inner(status)&orders.having=count().gt.2&order=id&limit=5 · count=exact',
      },
      {
        table: 'distinct rows: the count of distinct rows and of groups',
        row: 'GET · /clients?select=name,orders!inner(client_id)&orders.having=count().gt.1&order=id&limit=1 · count=exact',
      },
    ],
  },
  {
    reason: 'Of columns of the same name, Citus renames the second.',
    status: 200,
    rows: [
      {
        table: 'reads: columns',
        row: 'GET · /plates?select=*,plate&car_id=eq.1',
        body: [{ car_id: 1, plate: 'AB 12', plate_1: 'AB 12' }],
      },
      {
        table: 'reads: columns',
        row: 'GET · /plates?select=plate,*&car_id=eq.1',
        body: [{ plate: 'AB 12', car_id: 1, plate_1: 'AB 12' }],
      },
      {
        table: 'reads: columns',
        row: 'GET · /plates?select=plate,plate&car_id=eq.1',
        body: [{ plate: 'AB 12', plate_1: 'AB 12' }],
      },
      {
        table: 'reads: columns',
        row: 'GET · /cars?select=tags->0,tags->>1&id=eq.4',
        body: [{ tags: 'rust', tags_1: 'old timer' }],
      },
      { table: 'reads: spread embeds', row: 'GET · /cars?select=id,...models(id)&id=eq.2', body: [{ id: 2, id_1: 1 }] },
      {
        table: 'reads: spread embeds',
        row: 'GET · /makers?select=id,...models(*)&models.order=id&id=eq.2',
        body: [
          {
            id: 2,
            id_1: [3],
            maker_id: [2],
            name: ['T100'],
            style: [null],
            price: [18500],
            size: [null],
            specs: [{ '1': 'one', doors: 5, 'we"ird': true }],
            notes: [{ a: null }],
          },
        ],
      },
      {
        table: 'distinct rows: distinct on columns',
        row: 'GET · /orders?select=*,id,again:id&distinct=on.(status)&order=id&limit=1',
        body: [
          {
            id: 1,
            client_id: 1,
            seller: 'ann',
            status: 'paid',
            amount: 10,
            placed: '2024-01-01T08:00:00+00:00',
            data: { size: 's' },
            note: { a: 1 },
            id_1: 1,
            again: 1,
          },
        ],
      },
    ],
  },
  {
    reason: 'Citus does not estimate the number of rows.',
    status: 206,
    rows: [
      { table: 'reads: pagination and counts', row: 'GET · /tickets?select=id&order=id&limit=2 · count=planned' },
      { table: 'reads: pagination and counts', row: 'GET · /tickets?select=id&order=id&limit=2 · count=estimated' },
      {
        table: 'reads: pagination and counts',
        row: 'GET · /tickets?select=id&order=id&offset=200 · count=planned',
        body: [],
      },
      { table: 'reads: db-max-rows', row: 'GET · /tickets?select=id&order=id · count=estimated' },
    ],
  },
  {
    reason: 'Execution plans are those of Citus.',
    status: 200,
    rows: [{ table: 'reads: plans', row: 'GET · /cars?id=eq.1 · application/vnd.pgrst.plan' }],
  },
  {
    reason: 'Citus does not check WITH CHECK OPTION of views.',
    status: 201,
    rows: [
      { table: 'writes: views', row: 'POST · /red_vehicles · {"id":71,"colour":"blue"}', body: { 'not JSON': '' } },
    ],
  },
  {
    reason: 'Upserts that only update answer 201: Citus refuses the condition that counts them.',
    status: 201,
    rows: [
      {
        table: 'writes: merging',
        row: 'POST · /makes · {"id":1,"name":"FIAT"} · resolution=merge-duplicates, return=representation · all rows exist: 200',
      },
      { table: 'writes: merging', row: 'POST · /makes · {"id":1,"name":"FIAT"} · resolution=merge-duplicates' },
      {
        table: 'writes: merging',
        row: 'POST · /fittings · {"vehicle_id":1,"part":"radio","quantity":9} · resolution=merge-duplicates, return=representation · other columns are kept',
      },
      {
        table: 'writes: merging',
        row: 'POST · /pairs · {"a":1,"b":1} · resolution=merge-duplicates, return=representation',
      },
      {
        table: 'writes: merging',
        row: 'POST · /makes?on_conflict=name · {"id":30,"name":"Škoda"} · resolution=merge-duplicates, return=representation',
      },
      {
        table: 'writes: merging',
        row: 'POST · /vehicles?on_conflict=plate&select=id,plate,colour · {"plate":"BB-2","colour":"pink"} · resolution=merge-duplicates, return=representation',
      },
      {
        table: 'writes: merging',
        row: 'POST · /fittings?on_conflict=part,vehicle_id · {"vehicle_id":1,"part":"radio","quantity":1,"note":"old"} · resolution=merge-duplicates, return=representation',
      },
      {
        table: 'writes: merging',
        row: 'POST · /makes · {"id":1,"name":"F"} · resolution=merge-duplicates, return=headers-only',
      },
      { table: 'writes: putting', row: 'PUT · /makes?id=eq.1 · {"id":1,"name":"F"} · return=representation' },
      {
        table: 'writes: putting',
        row: 'PUT · /makes?id=eq.1 · {"id":1,"name":"F"} · resolution=ignore-duplicates, missing=default, return=representation · resolution does not apply to PUT',
      },
      {
        table: 'writes: putting',
        row: 'PUT · /fittings?vehicle_id=eq.1&part=eq.radio · {"vehicle_id":1,"part":"radio","quantity":3} · return=representation',
      },
      { table: 'writes: putting', row: 'PUT · /tags?name=eq.fast · {"name":"fast"} · return=representation' },
      {
        table: 'writes: putting',
        row: 'PUT · /makes?id=eq.1 · {"id":1,"name":"F"} · return=representation · application/vnd.pgrst.object+json',
      },
      {
        table: 'writes: putting',
        row: 'PUT · /makes?id=eq.1 · [{"id":1,"name":"F"},{"id":2,"name":"V"}] · return=representation',
      },
    ],
  },
]
