// The tables of the service's routes without a service: no handler is called.
import { serviceTables } from '../../server/running/service-routes.ts'
import { TokenSigner } from '../../server/identity/jwt/token-signer.ts'
import type { RouteTable } from '../../server/http/router.ts'
import { noRules } from './service.ts'

const notCalled = (): never => {
  throw new Error('no handler is called here')
}

const parts = {
  database: { ask: notCalled, askRows: notCalled, transaction: notCalled },
  query: notCalled,
  sessionSecrets: [],
  secureCookies: false,
  allowedOrigins: notCalled,
  isStable: notCalled,
  trustedProxies: 0,
  sessionLimits: notCalled,
}

export const tables: readonly RouteTable[] = serviceTables({
  ...parts,
  services: ['rest', 'auth', 'profiles', 'reports', 'analysis'],
  accounts: {
    ...parts,
    passwords: { for: notCalled },
    limits: { register: notCalled, guess: notCalled },
    signer: new TokenSigner(notCalled),
    tokens: notCalled,
    rules: noRules,
    tokenDoor: { issueTokens: notCalled, sessionOf: notCalled },
  },
  version: '1.2.3',
  restBasePath: '/rest/v1',
  hasMailbox: false,
  hasConsole: false,
  isDevelopment: true,
  imageBasePath: '/api/v1/water-hyacinth',
  checks: {},
  document: notCalled,
})
