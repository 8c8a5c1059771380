// The service's routers as a listening server, on a migrated database.
import express from 'express'
import type { Test } from 'tap'
import { accountsRouter, type AccountsSettings } from '../../server/services/accounts/accounts-router.ts'
import { createPool } from '../../server/postgres/pool.ts'
import { queryOn, transactionOn } from '../../server/postgres/transaction.ts'
import { reportRouter } from '../../server/services/report/report-router.ts'
import { createValidator } from '../../server/validation/validator.ts'
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
    AccountsSettings,
    | 'sessionSecrets'
    | 'secureCookies'
    | 'accountLimit'
    | 'accountTotalLimit'
    | 'addressLimit'
    | 'trustedProxies'
    | 'allowedOrigins'
    | 'tokens'
  >
>

/** `authenticatorUri` may name a database that is not migrated or does not exist. */
export async function startService(
  t: Pick<Test, 'teardown'>,
  authenticatorUri: string,
  more: Settings = {},
): Promise<Service> {
  const pool = createPool(
    { connectionString: authenticatorUri },
    { dbPool: 5, dbPoolAcquisitionTimeout: 5, dbPoolMaxIdletime: 30, dbPoolMaxLifetime: 1800 },
  )
  const logged: unknown[] = []
  const settings = {
    query: queryOn(pool),
    transaction: transactionOn(pool),
    validator: await createValidator(),
    sessionSecrets: secrets,
    secureCookies: false,
    bodyLimit: 10_000,
    // These limits are too high to be reached.
    accountLimit: 100_000,
    accountTotalLimit: 100_000,
    addressLimit: 100_000,
    trustedProxies: 0,
    allowedOrigins: () => [],
    tokens: () => ({ jwtSecret: null, jwtAud: null, jwtRoleClaimKey: '.role' }),
    ...more,
    onError: (error: unknown) => logged.push(error),
  }
  // A bare router is sufficient: the routers use only Node's requests and responses.
  const root = express.Router()
  root.use('/auth', accountsRouter(settings))
  root.use('/report', reportRouter(settings))
  const url = await listen(t, (request, response) => {
    root(request as express.Request, response as express.Response, (error: unknown) => {
      response.statusCode = 599
      response.end(`nobody answered: ${String(error)}`)
    })
  })
  t.teardown(() => pool.end())
  return { url, logged, call: caller(url) }
}
