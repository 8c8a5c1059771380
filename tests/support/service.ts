// The service's routers as a listening server, on a migrated database.
import { randomUUID } from 'node:crypto'
import express from 'express'
import type { Test } from 'tap'
import { Failure } from '../../server/http/envelope.ts'
import { envelopeBodyReader, envelopeDialect } from '../../server/http/envelope-dialect.ts'
import { createRouters, mounted } from '../../server/http/router.ts'
import { accountsTable, type AccountsSettings } from '../../server/services/accounts/accounts-table.ts'
import type { TokenSettings } from '../../server/services/accounts/access-token.ts'
import { databaseLimits } from '../../server/services/limits.ts'
import { createAttemptLimits, type AttemptLimitSettings } from '../../server/services/accounts/attempt-limit.ts'
import { createPasswords } from '../../server/services/accounts/password.ts'
import type { AccountRules } from '../../server/services/accounts/account-rules.ts'
import { noLimits } from '../../server/services/accounts/session-limits.ts'
import { TokenSigner } from '../../server/identity/jwt/token-signer.ts'
import { databaseFailure } from '../../server/services/database-failure.ts'
import { Database } from '../../server/postgres/database.ts'
import type { RunQuery } from '../../server/postgres/run-query.ts'
import { createPool } from '../../server/postgres/pool.ts'
import { reportTable, type ReportSettings } from '../../server/services/report/report-routes.ts'
import { createValidator } from '../../server/validation/validator.ts'
import { blockingHasher } from './blocking-hasher.ts'
import { caller, type Call } from './call.ts'
import { listen } from './listening.ts'

export const secrets = ['s'.repeat(32), 'older'.repeat(8)] as const

export type Service = {
  readonly url: string
  /** Errors that the routers reported for logging. */
  readonly logged: unknown[]
  readonly call: Call
}

type Settings = Partial<
  Pick<
    AccountsSettings & ReportSettings,
    | 'database'
    | 'passwords'
    | 'query'
    | 'sessionSecrets'
    | 'secureCookies'
    | 'trustedProxies'
    | 'allowedOrigins'
    | 'findsSessionsFirst'
  >
> &
  Partial<Omit<AttemptLimitSettings, 'limits'>> & {
    readonly query?: RunQuery
    readonly tokens?: () => Partial<TokenSettings>
  }

/** Without `/auth/v1`, there are no rules but those of the routes. */
export const noRules: AccountRules = {
  admitSignUp: () =>
    Promise.resolve({ id: randomUUID(), audience: 'authenticated', role: 'authenticated', confirms: false }),
  signedUp: () => Promise.resolve(),
  admitSignIn: () => undefined,
  signedIn: () => Promise.resolve(),
  admitPassword: () => undefined,
  reportAttempt: undefined,
  confirmsAddresses: () => false,
  watchChange: () => Promise.resolve(() => undefined),
  addressChanged: () => undefined,
  customClaims: () => Promise.resolve(undefined),
}

const noTokens = { jwtSecret: null, authJwtKeys: null, authJwtSecret: null, jwtAud: null, jwtRoleClaimKey: '.role' }

/** `authenticatorUri` may name a database that is not migrated or does not exist. */
export async function startService(
  t: Pick<Test, 'teardown'>,
  authenticatorUri: string,
  more: Settings = {},
): Promise<Service> {
  const database = new Database(
    createPool(
      { connectionString: authenticatorUri },
      { dbPool: 5, dbPoolAcquisitionTimeout: 5, dbPoolMaxIdletime: 30, dbPoolMaxLifetime: 1800 },
    ),
  )
  const logged: unknown[] = []
  const tokens = (): TokenSettings => ({ ...noTokens, ...more.tokens?.() })
  // By default, the limits are too high to be reached.
  const { query = database.query, accountLimit = 100_000, accountTotalLimit = 100_000, addressLimit = 100_000 } = more
  const settings = {
    database,
    query,
    sessionSecrets: secrets,
    secureCookies: false,
    passwords: createPasswords({}, blockingHasher),
    limits: createAttemptLimits({
      limits: databaseLimits(query, () => undefined),
      accountLimit,
      accountTotalLimit,
      addressLimit,
    }),
    signer: new TokenSigner(tokens),
    trustedProxies: 0,
    sessionLimits: () => noLimits,
    rules: noRules,
    allowedOrigins: () => [],
    isStable: () => false,
    // `startApplication` has /auth/v1, too.
    tokenDoor: {
      issueTokens: () => Promise.resolve(undefined),
      sessionOf: () => Promise.reject(new Failure(401, 'There are no tokens here')),
    },
    ...more,
    tokens,
  }
  // A bare router is sufficient: the routers use only Node's requests and responses.
  const root = express.Router()
  const routers = createRouters([accountsTable(settings), reportTable(settings)], {
    dialect: envelopeDialect,
    tools: {
      validator: await createValidator(),
      readBody: envelopeBodyReader(10_000),
      onError: (error) => logged.push(error),
      failureOf: databaseFailure,
    },
  })
  for (const [segment, router] of routers) root.use(`/${segment}`, mounted(router))
  const url = await listen(t, (request, response) => {
    root(request as express.Request, response as express.Response, (error: unknown) => {
      response.statusCode = 599
      response.end(`nobody answered: ${String(error)}`)
    })
  })
  t.teardown(() => database.close())
  return { url, logged, call: caller(url) }
}
