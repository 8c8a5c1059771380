// How the fixtures of the request tables are distributed by Citus: their tables belong to cars, vehicles, orders and so on.

import type { Environment } from '../../server/config/config-sources.ts'

/** A fixture on Citus. */
export type CitusFixture = {
  /** Roles of requests, which Citus needs to log in on the workers. */
  readonly logins: readonly string[]
  /** Settings of the service, below those of the request tables. */
  readonly settings?: Environment
  /** Statements that create the roles that the suite expects from elsewhere. They may exist. */
  readonly roles?: readonly string[]
  /** Keys that Citus can have, on both servers. */
  readonly keys?: string
  /** Statements on Citus only, one at a time. */
  readonly distribution: readonly string[]
  /** Statements on Citus only, after the foreign keys. */
  readonly afterwards?: string
}

/** Repeats what the policies and the results of the fixtures depend on, so that Citus passes it to the workers. */
const passing = `
  create schema passing;
  grant usage on schema passing to public;
  create function passing.pass_settings() returns void language plpgsql set search_path = '' as $$
  begin
    execute pg_catalog.format('set local request.jwt.claims = %L', pg_catalog.current_setting('request.jwt.claims', true));
    execute pg_catalog.format('set local timezone = %L', pg_catalog.current_setting('timezone'));
  end $$;`

const passed = { PGRST_DB_PRE_REQUEST: 'passing.pass_settings' }

const reference = (...tables: readonly string[]): string[] =>
  tables.map((table) => `select create_reference_table('${table}')`)

const distributed = (table: string, column: string, beside?: string): string =>
  `select create_distributed_table('${table}', '${column}', ${beside === undefined ? 'shard_count => 4' : `colocate_with => '${beside}'`})`

export const citusFixtures: Readonly<Record<string, CitusFixture>> = {
  reads: {
    roles: ['create role visitor'],
    logins: ['visitor'],
    settings: passed,
    keys: `
      ${passing}
      alter table garage.disputes drop constraint disputes_pkey, add primary key (car_id, id);
      alter table garage.empty_lot drop constraint empty_lot_pkey, add primary key (car_id, id);`,
    distribution: [
      ...reference('garage.makers', 'garage.models', 'garage.people', 'garage.workshops', 'garage.parts'),
      distributed('garage.cars', 'id'),
      distributed('garage.plates', 'car_id', 'garage.cars'),
      distributed('garage.repairs', 'car_id', 'garage.cars'),
      distributed('garage.lends', 'car_id', 'garage.cars'),
      distributed('garage.readings', 'car_id', 'garage.cars'),
      distributed('garage.disputes', 'car_id', 'garage.cars'),
      distributed('garage.empty_lot', 'car_id', 'garage.cars'),
      distributed('garage.tickets', 'id'),
      distributed('garage."größe, länge"', 'kür zel'),
      distributed('garage."__proto__"', 'constructor'),
      distributed('garage.secrets', 'id'),
      distributed('garage.files', 'id'),
    ],
  },
  writes: {
    logins: ['garage_anon', 'garage_clerk', 'garage_auditor'],
    distribution: [
      ...reference('garage.makes', 'garage.vehicles'),
      distributed('garage.ledger', 'n'),
      distributed('garage.fittings', 'vehicle_id'),
      distributed('garage.bookings', 'id'),
      distributed('garage.tags', 'name'),
      distributed('garage.pairs', 'a'),
      distributed('garage.notes', 'message'),
      distributed('garage."Odd Names"', 'the key'),
      distributed('garage.secrets', 'id'),
      distributed('depot.boxes', 'id'),
    ],
  },
  nested: {
    logins: ['nested_clerk', 'nested_guest', 'nested_writer'],
    settings: passed,
    keys: `
      ${passing}
      drop policy of_own_order on store.lines;
      create function store.is_own_order(id bigint) returns boolean stable language sql
        as $$ select exists (select from store.orders where orders.id = is_own_order.id) $$;
      create policy of_own_order on store.lines using (store.is_own_order(order_id)) with check (store.is_own_order(order_id));`,
    // A local table with a foreign key to a reference table becomes a table of Citus: the function returned rows of what it was.
    afterwards: `
      drop function store.latest_line;
      create function store.latest_line(store.orders) returns setof store.lines rows 1 stable language sql
        as $$ select * from store.lines where order_id = $1.id order by id desc limit 1 $$`,
    distribution: [
      ...reference('store.customers', 'store.orders', 'store.tags', 'store.categories', 'store.boxes'),
      distributed('store.order_tags', 'order_id'),
      distributed('store.shipments', 'order_id', 'store.order_tags'),
      distributed('store.plots', 'tenant'),
      distributed('store.readings', 'tenant', 'store.plots'),
      distributed('store.items', 'id'),
    ],
  },
  sales: {
    logins: ['anon', 'authenticated'],
    settings: passed,
    roles: [
      'create role authenticator login noinherit',
      'create role anon nologin',
      'create role authenticated nologin',
      'grant anon, authenticated to authenticator',
    ],
    keys: `
      ${passing}
      alter table sales.orders drop constraint orders_pkey, add primary key (client_id, id);
      alter table sales.owned drop constraint owned_pkey, add primary key (owner, id);`,
    distribution: [
      ...reference('sales.clients'),
      distributed('sales.orders', 'client_id'),
      distributed('sales.words', 'id'),
      distributed('sales.owned', 'owner'),
    ],
  },
}
