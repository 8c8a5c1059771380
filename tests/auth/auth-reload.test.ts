// Settings of /auth/v1 take effect with a reload, without a restart.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { startApplication } from '../support/application.ts'
import { askAuth, codeOf, newAddress, sessionOf, signUp } from '../support/auth.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { startMailSink } from '../support/mail-sink.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
await database.query(`
  create function public.no_users(event jsonb) returns jsonb language sql
  as $$ select '{"error": {"http_code": 403, "message": "Closed"}}'::jsonb $$;
  grant usage on schema public to supabase_auth_admin;
  grant execute on function public.no_users(jsonb) to supabase_auth_admin;
`)
const folder = mkdtempSync(join(tmpdir(), 'rowhouse-templates-'))
t.teardown(() => rmSync(folder, { recursive: true }))
const [first, second] = [await startMailSink(t), await startMailSink(t)]
const application = await startApplication(t, database.authenticatorUri, {
  GOTRUE_SITE_URL: 'https://app.test',
  GOTRUE_MAILER_AUTOCONFIRM: 'true',
  GOTRUE_SMTP_HOST: '127.0.0.1',
  GOTRUE_SMTP_PORT: String(first.port),
  GOTRUE_SMTP_ADMIN_EMAIL: 'admin@app.test',
  GOTRUE_SMTP_MAX_FREQUENCY: '0s',
  GOTRUE_RATE_LIMIT_HEADER: 'x-client',
})
const ask = askAuth(application.url)
const { reload } = application
const landing = async (target: string): Promise<string> => {
  const { headers } = await ask('GET', `/verify?type=signup&token=x&redirect_to=${encodeURIComponent(target)}`)
  const { origin, pathname } = new URL(headers.get('location') ?? '')
  return origin + pathname
}

t.test('site and allowed pages', async (t) => {
  t.equal(await landing('https://other.test/a'), 'https://app.test/')
  await reload({ GOTRUE_URI_ALLOW_LIST: 'https://other.test/**' })
  t.equal(await landing('https://other.test/a'), 'https://other.test/a')
  await reload({ GOTRUE_URI_ALLOW_LIST: undefined, GOTRUE_SITE_URL: 'https://new.test' })
  t.equal(await landing('https://other.test/a'), 'https://new.test/')
})

t.test('mail server, subjects and templates', async (t) => {
  const email = newAddress()
  await signUp(ask, email)
  await ask('POST', '/otp', { body: { email } })
  t.equal((await first.next(email)).subject, 'Sign in')
  const template = join(folder, 'magic.html')
  writeFileSync(template, '<p>Template one {{ .Token }}</p>')
  await reload({
    GOTRUE_SMTP_PORT: String(second.port),
    GOTRUE_MAILER_SUBJECTS_MAGIC_LINK: 'Come in',
    GOTRUE_MAILER_TEMPLATES_MAGIC_LINK: template,
  })
  await ask('POST', '/otp', { body: { email } })
  const mail = await second.next(email)
  t.equal(mail.subject, 'Come in')
  t.match(mail.text, /Template one \d{6}/)
})

t.test('providers', async (t) => {
  const acme = '/authorize?provider=acme'
  t.match((await ask('GET', acme)).body, { msg: 'Unsupported provider: Provider acme could not be found' })
  await reload({
    GOTRUE_EXTERNAL_ACME_ENABLED: 'true',
    GOTRUE_EXTERNAL_ACME_CLIENT_ID: 'a',
    GOTRUE_EXTERNAL_ACME_URL: 'http://127.0.0.1:9',
  })
  const unreachable = await ask('GET', acme)
  t.match(unreachable.headers.get('location'), /error=temporarily_unavailable.*acme/)
  await reload({ GOTRUE_EXTERNAL_ACME_ENABLED: 'false' })
  t.match((await ask('GET', acme)).body, { msg: 'Unsupported provider: provider is not enabled' })
})

t.test('hooks', async (t) => {
  const enroll = () => ask('POST', '/signup', { body: { email: newAddress(), password: 'correct horse' } })
  t.equal((await enroll()).status, 200)
  await reload({
    GOTRUE_HOOK_BEFORE_USER_CREATED_ENABLED: 'true',
    GOTRUE_HOOK_BEFORE_USER_CREATED_URI: 'pg-functions://postgres/public/no_users',
  })
  t.match(await enroll(), { status: 403, body: { msg: 'Closed' } })
  await reload({
    GOTRUE_HOOK_BEFORE_USER_CREATED_URI: 'https://hook.test',
    GOTRUE_HOOK_BEFORE_USER_CREATED_SECRETS: 'nonsense',
  })
  for (let time = 0; time < 2; time += 1) t.equal((await enroll()).status, 403, 'a usable hook stays')
  const warnings = application.logged().filter(({ msg }) => String(msg).includes('The hooks stay as they were'))
  t.equal(warnings.length, 1)
  await reload({
    GOTRUE_HOOK_BEFORE_USER_CREATED_ENABLED: 'false',
    GOTRUE_HOOK_BEFORE_USER_CREATED_SECRETS: undefined,
  })
  t.equal((await enroll()).status, 200)
})

t.test('limits, tokens and sign-up', async (t) => {
  const { user } = await signUp(ask)
  const email = String(user.email)
  await reload({ GOTRUE_MAILER_AUTOCONFIRM: 'false', GOTRUE_RATE_LIMIT_EMAIL_SENT: '0' })
  t.match((await ask('POST', '/recover', { body: { email } })).body, { msg: /GOTRUE_RATE_LIMIT_EMAIL_SENT/ })
  await reload({ GOTRUE_RATE_LIMIT_EMAIL_SENT: undefined, GOTRUE_JWT_EXP: '77', GOTRUE_RATE_LIMIT_TOKEN_REFRESH: '1' })
  const body = { email, password: 'correct horse battery' }
  const enter = () => ask('POST', '/token?grant_type=password', { body, headers: { 'x-client': '192.0.2.7' } })
  t.equal(sessionOf(await enter()).expires_in, 77)
  t.equal(codeOf(await enter()), 'over_request_rate_limit')
  await reload({ GOTRUE_RATE_LIMIT_TOKEN_REFRESH: undefined, GOTRUE_DISABLE_SIGNUP: 'true' })
  t.equal((await enter()).status, 200)
  t.equal(codeOf(await ask('POST', '/signup', { body: { ...body, email: newAddress() } })), 'signup_disabled')
})
