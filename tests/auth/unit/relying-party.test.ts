// The site of passkeys, from the settings.
import t from 'tap'
import { ConfigError } from '../../../server/config/config-error.ts'
import { loadConfig } from '../../../server/config/load.ts'
import { relyingPartyOf } from '../../../server/services/auth/webauthn/relying-party.ts'

type Env = Readonly<Record<string, string>>
const partyOf = (env: Env) => relyingPartyOf(loadConfig({ env }).config, 'http://localhost:3000')

t.test('settings -> relying party', (t) => {
  const rows: readonly (readonly [Env, string, string, readonly string[]])[] = [
    [{}, 'localhost', 'localhost', ['http://localhost:3000']],
    [
      { API_EXTERNAL_URL: 'https://api.example.org/auth/v1' },
      'api.example.org',
      'api.example.org',
      ['https://api.example.org'],
    ],
    [
      { GOTRUE_SITE_URL: 'https://shop.example.org:8443/app?x' },
      'shop.example.org',
      'shop.example.org',
      ['https://shop.example.org:8443'],
    ],
    [
      { GOTRUE_SITE_URL: 'org.example.app://open', API_EXTERNAL_URL: 'https://api.example.org/auth/v1' },
      'api.example.org',
      'api.example.org',
      ['https://api.example.org'],
    ],
    [
      {
        GOTRUE_SITE_URL: 'https://shop.example.org',
        GOTRUE_WEBAUTHN_RP_ID: 'example.org',
        GOTRUE_WEBAUTHN_RP_DISPLAY_NAME: 'Shop',
        GOTRUE_WEBAUTHN_RP_ORIGINS: 'https://example.org, http://localhost:5173,android:apk-key-hash:abc_-',
      },
      'example.org',
      'Shop',
      ['https://example.org', 'http://localhost:5173', 'android:apk-key-hash:abc_-'],
    ],
  ]
  for (const [env, id, name, origins] of rows) t.strictSame(partyOf(env), { id, name, origins }, JSON.stringify(env))
  t.end()
})

t.test('values that no browser would send', (t) => {
  const faultOf = (env: Env): string => {
    try {
      loadConfig({ env })
    } catch (error) {
      if (error instanceof ConfigError) return error.message
      throw error
    }
    return 'accepted'
  }
  for (const id of [
    'https://example.org',
    'example.org:443',
    'Example.org',
    '127.0.0.1',
    '[::1]',
    'a..b',
    'example.org.',
    '-a.org',
  ]) {
    t.match(faultOf({ GOTRUE_WEBAUTHN_RP_ID: id }), /GOTRUE_WEBAUTHN_RP_ID.*must be a domain/s, id)
  }
  for (const origin of [
    'example.org',
    'https://example.org/',
    'https://Example.org',
    'https://example.org:443',
    'https://*.example.org/x',
    'ftp://example.org',
    'null',
  ]) {
    t.match(
      faultOf({ GOTRUE_WEBAUTHN_RP_ORIGINS: `https://example.org,${origin}` }),
      /GOTRUE_WEBAUTHN_RP_ORIGINS.*must be origins/s,
      origin,
    )
  }
  t.equal(faultOf({ GOTRUE_WEBAUTHN_RP_ORIGINS: '', GOTRUE_WEBAUTHN_RP_ID: '' }), 'accepted')
  t.end()
})
