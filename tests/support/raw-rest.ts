// A REST API of a few tables on Node's server, and the bytes of its responses.
import { connect as connectTo } from 'node:net'
import type { Test } from 'tap'
import { nodeHandler } from '../../server/adapters/node.ts'
import { createRest } from '../../server/index.ts'
import { connect } from '../../server/postgres/index.ts'
import { ApiError } from '../../server/rest/errors.ts'
import type { RestOptionSettings } from '../../server/rest/rest-options.ts'
import { createDatabase } from './database.ts'
import { listen } from './listening.ts'

type Closing = Pick<Test, 'teardown'>

/** A database with tables and functions whose responses have every header that there is. */
export async function createHeaderDatabase(t: Closing): Promise<{ readonly uri: string; readonly role: string }> {
  const fixture = await createDatabase()
  t.teardown(() => fixture.drop())
  const role = `heads_${fixture.name}`
  await fixture.query(`
    create role ${role} nologin;
    grant ${role} to current_user;
    create table public.items (id int primary key, name text);
    insert into public.items values (1, 'one'), (2, 'two'), (3, 'drei ä');
    create table public.parts (id int primary key, item int references public.items);
    insert into public.parts values (1, 1), (2, 1);
    create view public.names as select name from public.items;
    create function public.headed(headers text) returns json stable language plpgsql as
      $$ begin perform set_config('response.headers', headers, true); return '[]'; end $$;
    create function public.status(code text) returns void stable language plpgsql as
      $$ begin perform set_config('response.status', code, true); end $$;
    create function public.add(a int, b int) returns int immutable language sql as $$ select a + b $$;
    create function public.touch() returns void volatile language sql as $$ select $$;
    create function public.refuse(code text, message text) returns void language plpgsql as
      $$ begin raise exception using errcode = code, message = refuse.message; end $$;
    create function public.custom(body text) returns void language plpgsql as
      $$ begin raise sqlstate 'PGRST' using message = '{"code":"C1","message":"m","details":"d","hint":"h"}', detail = body; end $$;
    grant all on public.items, public.parts, public.names to ${role}`)
  t.teardown(() => fixture.query(`drop owned by ${role}; drop role ${role}`))
  return { uri: fixture.adminUri, role }
}

/** Starts the API. A request with `X-Refused` gets 401, one with `X-Broken` 500. Nothing is written for good. */
export async function startRawRest(
  t: Closing,
  { uri, role }: { readonly uri: string; readonly role: string },
  settings: RestOptionSettings = {},
): Promise<string> {
  const database = connect(uri, { dbPool: 2 })
  const rest = await createRest({
    database,
    schemas: ['public'],
    identify: (request) => {
      if (request.header('x-broken') !== undefined) throw new Error('a fault of the application')
      if (request.header('x-refused') === undefined) return { role, claims: {} }
      throw new ApiError({ code: 'PGRST301', status: 401, message: 'No', headers: [['WWW-Authenticate', 'Bearer']] })
    },
    settings: { dbTxEnd: 'rollback', ...settings },
    onSchema: () => undefined,
  })
  t.teardown(async () => {
    await rest.close()
    await database.close()
  })
  return listen(t, nodeHandler(rest))
}

const last = ['GET /items?select=id&limit=0 HTTP/1.1', 'Host: x', 'Connection: close', '\r\n'].join('\r\n')

/** Times, and the version of the program. */
const changing = /(\r\nDate: |dur=|rowhouse\/)(?:[\d.]+|\w{3}, [^\r]+)/g

/**
 * Sends a request, and one that ends the connection as soon as the first is answered. Gives all bytes that came back, one
 * character each, without what changes.
 *
 * @param rest what is sent once a response has begun to arrive: the end of a chunked body
 */
export function rawResponses(url: string, request: string, rest?: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connectTo(Number(new URL(url).port), '127.0.0.1').setEncoding('latin1')
    let text = ''
    socket.on('data', (chunk: string) => {
      if (text === '' && rest !== undefined) socket.write(rest, 'latin1')
      text += chunk
    })
    socket.once('error', reject)
    socket.once('close', () => resolve(text.replaceAll(changing, '$1-')))
    socket.write(rest === undefined ? request + last : request, 'latin1')
  })
}
