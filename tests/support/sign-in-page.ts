// Pages that sign users in with `@supabase/supabase-js`, unmodified, at a service with every way of sign-in.
import type { SupabaseClient } from '@supabase/supabase-js'
import { exportJWK, generateKeyPair } from 'jose'
import type { Test } from 'tap'
import { createApiKey } from '../../server/identity/api-key/api-key.ts'
import { startApplication } from './application.ts'
import { askAuth, type AskAuth } from './auth.ts'
import { createMigratedDatabase, withClient, type TestDatabase } from './database.ts'
import { startMailSink, type MailSink } from './mail-sink.ts'
import { cookieSettings, mailSettings } from './mailing-service.ts'
import { client as oidcClient, startProvider } from './oidc-provider.ts'
import { pageClient, signUpByMail, type FlowType } from './page-client.ts'
import { until } from './until.ts'

export const site = 'https://app.test'

export type SignInService = {
  readonly url: string
  readonly ask: AskAuth
  readonly database: TestDatabase
  readonly sink: MailSink
  /** The client of a page with an empty storage. */
  readonly page: (options?: { readonly flowType?: FlowType; readonly url?: string }) => SupabaseClient
  /** The client of a server with the secret key. */
  readonly server: SupabaseClient
  readonly secretKey: string
  /** A page on which a new user has signed up and confirmed the address. */
  readonly signedUp: (page?: SupabaseClient) => Promise<{ readonly page: SupabaseClient; readonly email: string }>
  /** The last code sent to a phone number. */
  readonly smsCode: (phone: string) => Promise<string>
  /** A second service on the same database. */
  readonly start: (env: Readonly<Record<string, string>>) => Promise<{ readonly url: string; readonly ask: AskAuth }>
}

const sendSms = `
  create schema hooks;
  grant usage on schema hooks to supabase_auth_admin;
  create table hooks.sent (id bigint generated always as identity, phone text, code text);
  create function hooks.send_sms(event jsonb) returns jsonb language plpgsql security definer set search_path = '' as $$
  begin
    insert into hooks.sent (phone, code) values (event #>> '{sms,phone}', event #>> '{sms,otp}');
    return '{}';
  end $$;
  grant execute on function hooks.send_sms to supabase_auth_admin`

/**
 * Starts a service whose addresses have to be confirmed.
 *
 * @param sql run before the start
 */
export async function startSignInService(t: Pick<Test, 'teardown'>, sql: string): Promise<SignInService> {
  const database = await createMigratedDatabase()
  t.teardown(() => database.drop())
  await database.query(`${sendSms};${sql}`)
  const sink = await startMailSink(t)
  const acme = await startProvider(t, {
    ann: { email: 'ann@acme.test', email_verified: true, name: 'Ann', picture: 'https://acme.test/ann.png' },
    bob: { email: 'bob@acme.test', email_verified: true, name: 'Bob' },
    carl: { email: 'carl@acme.test', email_verified: true, name: 'Carl' },
  })
  const { privateKey } = await generateKeyPair('ES256', { extractable: true })
  const jwk = { ...(await exportJWK(privateKey)), alg: 'ES256', kid: 'one', key_ops: ['sign', 'verify'] }
  const env = {
    GOTRUE_JWT_KEYS: JSON.stringify([jwk]),
    ...mailSettings(sink),
    ...cookieSettings,
    GOTRUE_SITE_URL: site,
    GOTRUE_URI_ALLOW_LIST: 'https://*.preview.test/**',
    GOTRUE_SMS_MAX_FREQUENCY: '0s',
    GOTRUE_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
    GOTRUE_EXTERNAL_PHONE_ENABLED: 'true',
    GOTRUE_HOOK_SEND_SMS_ENABLED: 'true',
    GOTRUE_HOOK_SEND_SMS_URI: 'pg-functions://postgres/hooks/send_sms',
    GOTRUE_SECURITY_MANUAL_LINKING_ENABLED: 'true',
    GOTRUE_SECURITY_REFRESH_TOKEN_REUSE_INTERVAL: '10',
    GOTRUE_EXTERNAL_ACME_ENABLED: 'true',
    GOTRUE_EXTERNAL_ACME_CLIENT_ID: oidcClient.id,
    GOTRUE_EXTERNAL_ACME_SECRET: oidcClient.secret,
    GOTRUE_EXTERNAL_ACME_URL: acme.issuer,
  }
  const start: SignInService['start'] = async (more) => {
    const { url } = await startApplication(t, database.authenticatorUri, { ...env, ...more })
    return { url, ask: askAuth(url) }
  }
  const { url, ask } = await start({})
  acme.serve(`${url}/auth/v1/callback`)
  const newKey = (role: string): Promise<string> =>
    withClient(database.adminUri, async (client) => (await createApiKey(client, { role, label: role })).key)
  const [publishable, secret] = [await newKey('anon'), await newKey('service_role')]
  const page: SignInService['page'] = ({ flowType, url: other = url } = {}) => pageClient(other, publishable, flowType)
  return {
    url,
    ask,
    database,
    sink,
    page,
    server: pageClient(url, secret),
    secretKey: secret,
    start,
    signedUp: async (newPage = page()) => ({ page: newPage, email: await signUpByMail(newPage, sink) }),
    smsCode: async (phone) => {
      const find = async (): Promise<unknown> =>
        (await database.query('delete from hooks.sent where phone = $1 returning code', [phone])).rows[0]?.code
      let code: unknown
      await until(async () => (code = await find()) !== undefined)
      return String(code)
    },
  }
}
