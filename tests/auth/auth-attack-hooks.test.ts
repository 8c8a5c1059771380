// Hooks that take too long, in whole flows: a clear error, and a repeated request finds its way.
import type { RequestListener } from 'node:http'
import t, { type Test } from 'tap'
import {
  codeOf,
  newAddress,
  password,
  refreshGrant,
  sessionOf,
  signUp,
  type AskAuth,
  type AuthAnswer,
} from '../support/auth.ts'
import { listen } from '../support/listening.ts'
import { startMailingService, type AskedApplication } from '../support/mailing-service.ts'
import { until } from '../support/until.ts'

const { ask: plain, database, sink, startAnother } = await startMailingService(t, { GOTRUE_MAILER_AUTOCONFIRM: 'true' })

type HookName = 'before_user_created' | 'after_user_created' | 'custom_access_token' | 'send_email'
type Payload = {
  readonly claims?: unknown
  readonly user?: { readonly email: string }
  readonly email_data?: { readonly token: string }
}

/** A kind of hooks that can be slow. */
type Hooks = {
  readonly env: (name: HookName) => Readonly<Record<string, string>>
  readonly setSlow: (isSlow: boolean) => Promise<void>
  /** The codes for an address that send_email has received. */
  readonly codes: (email: string) => Promise<readonly string[]>
}

async function httpHooks(): Promise<Hooks> {
  let isSlow = false
  let open = 0
  const received: Payload[] = []
  const answer: RequestListener = (request, response) => {
    open += 1
    response.on('close', () => (open -= 1))
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => {
      const payload = JSON.parse(body) as Payload
      received.push(payload)
      if (isSlow) return
      response.setHeader('Content-Type', 'application/json')
      response.end(JSON.stringify(payload.claims === undefined ? {} : { claims: payload.claims }))
    })
  }
  const uri = await listen(t, answer)
  return {
    env: (name) => ({
      [`GOTRUE_HOOK_${name.toUpperCase()}_ENABLED`]: 'true',
      [`GOTRUE_HOOK_${name.toUpperCase()}_URI`]: uri,
      [`GOTRUE_HOOK_${name.toUpperCase()}_SECRETS`]: `v1,whsec_${Buffer.from('s'.repeat(32)).toString('base64')}`,
    }),
    setSlow: async (value) => {
      isSlow = value
      if (!value && !(await until(() => open === 0))) throw new Error('calls are still open')
    },
    codes: (email) =>
      Promise.resolve(received.filter(({ user }) => user?.email === email).map((it) => it.email_data?.token ?? '')),
  }
}

async function postgresHooks(): Promise<Hooks> {
  await database.query(`
    create schema hooks;
    grant usage on schema hooks to supabase_auth_admin;
    create table hooks.slowness (is_slow boolean not null);
    insert into hooks.slowness values (false);
    create table hooks.received (event jsonb);
    create function hooks.slow(event jsonb) returns jsonb language plpgsql security definer set search_path = '' as $$
    begin
      insert into hooks.received values (event);
      perform pg_catalog.pg_sleep(60) from hooks.slowness where is_slow;
      return case when event ? 'claims' then jsonb_build_object('claims', event -> 'claims') else '{}' end;
    end $$;
    grant execute on function hooks.slow to supabase_auth_admin`)
  return {
    env: (name) => ({
      [`GOTRUE_HOOK_${name.toUpperCase()}_ENABLED`]: 'true',
      [`GOTRUE_HOOK_${name.toUpperCase()}_URI`]: 'pg-functions://postgres/hooks/slow',
    }),
    setSlow: async (isSlow) => void (await database.query('update hooks.slowness set is_slow = $1', [isSlow])),
    codes: async (email) => {
      const { rows } = await database.query(
        "select event #>> '{email_data,token}' as code from hooks.received where event #>> '{user,email}' = $1",
        [email],
      )
      return rows.map(({ code }) => String(code))
    },
  }
}

const timeout = {
  status: 422,
  body: { error_code: 'hook_timeout', msg: /^Failed to reach hook within maximum time of/ },
}
const body = (email: string) => ({ body: { email, password } })
const users = async (email: string): Promise<number | null> =>
  (await database.query('select from auth.users where email = $1', [email])).rowCount
const isIdle = ({ service }: AskedApplication): Promise<boolean> =>
  until(() => service.database.statistics.total === service.database.statistics.idle)

for (const [kind, createHooks] of Object.entries({ http: httpHooks, postgres: postgresHooks })) {
  void t.test(`${kind}: hooks of sign-up, of tokens and of mails`, async (t) => {
    const hooks = await createHooks()
    const start = (name: HookName, env = {}) => startAnother({ ...hooks.env(name), ...env })
    const confirming = { GOTRUE_MAILER_AUTOCONFIRM: 'false' }
    const [before, after, tokens, mails] = await Promise.all([
      start('before_user_created'),
      start('after_user_created'),
      start('custom_access_token'),
      start('send_email', confirming),
    ])
    const refreshed = await signUp(plain)
    const refresh = (ask: AskAuth) => refreshGrant(ask, refreshed.refresh_token)
    const coded = await signUp(plain)
    await tokens.ask('POST', '/otp', { body: { email: coded.user.email } })
    const { code } = await sink.next(String(coded.user.email))
    const verify = (ask: AskAuth, token: string, email: unknown) =>
      ask('POST', '/verify', { body: { type: 'email', email, token } })
    const [rejected, created, signedIn, mailed] = [
      newAddress(),
      newAddress(),
      String(refreshed.user.email),
      newAddress(),
    ]
    const grant = '/token?grant_type=password'
    const recovered = String((await signUp(plain)).user.email)

    await hooks.setSlow(true)
    const slow: Readonly<Record<string, AuthAnswer>> = Object.fromEntries(
      await Promise.all(
        Object.entries({
          'before the creation': before.ask('POST', '/signup', body(rejected)),
          'before the creation by code': before.ask('POST', '/otp', { body: { email: rejected } }),
          'after the creation': after.ask('POST', '/signup', body(created)),
          'a password': tokens.ask('POST', grant, body(signedIn)),
          'a refresh': refresh(tokens.ask),
          'a code': verify(tokens.ask, code, coded.user.email),
          'a mail': mails.ask('POST', '/signup', body(mailed)),
          'a mail for an account': mails.ask('POST', '/otp', { body: { email: signedIn } }),
          'a mail that may be for a stranger': mails.ask('POST', '/recover', { body: { email: recovered } }),
        }).map(async ([label, answer]) => [label, await answer] as const),
      ),
    )
    const { 'a mail that may be for a stranger': silent, ...failed } = slow
    t.match(silent, { status: 200, text: '{}' }, 'the response does not wait for the hook')
    for (const [label, answer] of Object.entries(failed)) t.match(answer, timeout, `${label}: ${answer.text}`)
    t.ok(
      await until(() => mails.logged().some((line) => JSON.stringify(line).includes('maximum time'))),
      'it is logged',
    )
    await hooks.setSlow(false)
    for (const application of [before, after, tokens, mails]) t.ok(await isIdle(application), 'no connection is lost')

    t.equal(await users(rejected), 0, 'no account is created before the hook agrees')
    t.equal((await before.ask('POST', '/signup', body(rejected))).status, 200)
    t.equal(await users(created), 1)
    t.equal(codeOf(await after.ask('POST', '/signup', body(created))), 'user_already_exists')
    t.equal((await after.ask('POST', grant, body(created))).status, 200, 'the account can be used')
    await repeated(t, { tokens: tokens.ask, signedIn, refresh, token: refreshed.refresh_token })
    t.equal(codeOf(await verify(tokens.ask, code, coded.user.email)), 'otp_expired', 'the code is used up')
    t.equal((await mails.ask('POST', '/signup', body(mailed))).status, 200)
    const codes = await hooks.codes(mailed)
    t.equal(codes.length, kind === 'http' ? 2 : 1, 'a function that takes too long leaves nothing')
    t.equal((await verify(mails.ask, codes.at(-1) ?? '', mailed)).status, 200, 'the last code counts')
    t.equal(await users(mailed), 1)
  })
}

/** Sessions whose tokens could not be issued: the same credentials get them later. */
async function repeated(
  t: Test,
  {
    tokens,
    signedIn,
    refresh,
    token,
  }: {
    readonly tokens: AskAuth
    readonly signedIn: string
    readonly refresh: (ask: AskAuth) => Promise<AuthAnswer>
    readonly token: string
  },
): Promise<void> {
  t.equal((await tokens('POST', '/token?grant_type=password', body(signedIn))).status, 200)
  const next = await refresh(tokens)
  t.equal(next.status, 200, next.text)
  const { rows } = await database.query('select token from auth.refresh_tokens where parent = $1', [token])
  t.strictSame(rows, [{ token: sessionOf(next).refresh_token }], 'one child')
}
