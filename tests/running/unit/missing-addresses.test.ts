// The messages at startup about public addresses that are not set.
import t from 'tap'
import { loadConfig } from '../../../server/config/load.ts'
import { missingAddresses } from '../../../server/config/missing-addresses.ts'
import { missingSettingText } from '../../../server/config/missing-setting.ts'

t.test('addresses -> sentences', (t) => {
  const messages = (env: Readonly<Record<string, string>>): string[] =>
    missingAddresses(loadConfig({ env: { PGRST_SERVER_PORT: '3001', ...env } }).config).map(missingSettingText)
  const url =
    'API_EXTERNAL_URL is not set: links in mails and callbacks of providers lead to http://localhost:3001/auth/v1, which works on this machine only'
  const site = (where: string): string =>
    `GOTRUE_SITE_URL is not set: after links in mails and sign-in with a provider, users are sent to ${where}`
  const smtp = { GOTRUE_SMTP_HOST: 'smtp.example.com' }
  const [apiUrl, siteUrl] = [
    { API_EXTERNAL_URL: 'https://api.example.com/auth/v1' },
    { GOTRUE_SITE_URL: 'https://app.example.com' },
  ]
  t.strictSame(messages({}), [], 'nothing needs them')
  t.strictSame(messages(smtp), [url, site('http://localhost:3001')])
  t.strictSame(messages({ ...smtp, ...apiUrl }), [site('https://api.example.com')])
  t.strictSame(messages({ ...smtp, ...siteUrl }), [url])
  t.strictSame(messages({ ...smtp, ...apiUrl, ...siteUrl }), [])
  t.strictSame(messages({ ...smtp, SERVICES: 'rest' }), [], 'without the sign-in service')
  t.equal(messages({ GOTRUE_EXTERNAL_GOOGLE_ENABLED: 'true' }).length, 2)
  t.equal(messages({ GOTRUE_EXTERNAL_GOOGLE_ENABLED: 'false' }).length, 0)
  t.equal(
    messages({ GOTRUE_HOOK_SEND_EMAIL_ENABLED: 'true', GOTRUE_HOOK_SEND_EMAIL_URI: 'https://hooks.example.com' })
      .length,
    2,
  )
  const passkeys = { GOTRUE_PASSKEY_ENABLED: 'true' }
  const forPages = 'is not set: passkeys and security keys are for pages of'
  t.strictSame(messages(passkeys), [
    `GOTRUE_WEBAUTHN_RP_ID ${forPages} http://localhost:3001`,
    `GOTRUE_WEBAUTHN_RP_ORIGINS ${forPages} http://localhost:3001`,
  ])
  t.strictSame(messages({ ...passkeys, ...apiUrl, GOTRUE_WEBAUTHN_RP_ID: 'example.com' }), [
    `GOTRUE_WEBAUTHN_RP_ORIGINS ${forPages} https://api.example.com`,
  ])
  t.strictSame(messages({ ...passkeys, ...siteUrl }), [])
  t.equal(messages({ GOTRUE_MFA_WEB_AUTHN_VERIFY_ENABLED: 'true' }).length, 2)
  const clients = { GOTRUE_OAUTH_SERVER_ENABLED: 'true' }
  const noPage =
    'GOTRUE_OAUTH_SERVER_AUTHORIZATION_PATH is not set: requests of OAuth clients are refused, because no page asks for consent'
  t.strictSame(messages(clients), [
    'API_EXTERNAL_URL is not set: the issuer of tokens for OAuth clients is http://localhost:3001/auth/v1, which works on this machine only',
    'GOTRUE_SITE_URL is not set: OAuth clients ask for consent on a page of http://localhost:3001',
    noPage,
  ])
  t.strictSame(messages({ ...smtp, ...clients }), [url, site('http://localhost:3001'), noPage])
  const path = { GOTRUE_OAUTH_SERVER_AUTHORIZATION_PATH: '/oauth/consent' }
  t.strictSame(messages({ ...clients, ...apiUrl, ...siteUrl, ...path }), [])
  t.end()
})
