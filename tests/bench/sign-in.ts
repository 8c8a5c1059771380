// Sign-in at `/auth/v1`: requests a second, and what a flood of sign-ins does to reads.
import { hashPassword } from '../../server/services/accounts/password-hash.ts'
import { databaseName, sessionToken, userCount, userId, type Dataset } from './dataset.ts'
import type { LoadGenerator, Played } from './load.ts'
import type { Options } from './options.ts'
import { runSql, type Postgres } from './postgres.ts'
import { rawRequest, type BenchRequest } from './request.ts'
import { median } from './results.ts'
import type { Server } from './servers.ts'
import { measureSlowdown, slowdownLine } from './slowdown.ts'
import { runWrk } from './wrk.ts'
import { chosenWorkloads } from './workloads.ts'

/** Settings under which no request is refused for its number. */
export const unlimited = {
  GOTRUE_RATE_LIMIT_TOKEN_REFRESH: '1000000',
  AUTH_ACCOUNT_LIMIT: '1000000',
  AUTH_ACCOUNT_TOTAL_LIMIT: '1000000',
  AUTH_ADDRESS_LIMIT: '1000000',
}

type Context = {
  readonly server: Server
  readonly postgres: Postgres
  readonly dataset: Dataset
  readonly generator: LoadGenerator
  readonly options: Options
  readonly print: (line: string) => void
}

export type SignInResults = {
  /** Requests a second, medians. */
  readonly oneRow: number
  readonly user: number
  readonly refresh: number
  /** 99th percentile of reads during the flood, as a ratio to that without. */
  readonly readsSlowdown: number
}

/** Requests a second that are wanted where one row is read 8,000 times. */
const goals = { user: 4000, refresh: 1500, of: 8000, readsSlowdown: 2 }
/** Clients that sign in all the time, each after the response to its last attempt. */
const flood = 20
const password = 'a password of the benchmark'

const signIn = (grant: string, body: object): BenchRequest => ({
  method: 'POST',
  path: `/auth/v1/token?grant_type=${grant}`,
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify(body),
})

/** Runs all measurements, in turn, and prints each with its target. */
export async function measureSignIn(context: Context): Promise<SignInResults> {
  const { server, postgres, dataset, generator, options, print } = context
  await runSql(
    postgres.adminUri(databaseName),
    `update auth.users set encrypted_password = '${hashPassword(password)}', email_confirmed_at = now()`,
  )
  const root = new URL('/', server.url)
  const [workload] = chosenWorkloads(['one-row'])
  const { connections, seconds, rounds } = options
  const play = (url: URL, requests: readonly BenchRequest[]): Promise<Played> =>
    generator.play({ url, requests, connections, seconds })
  const read = (): Promise<Played> => play(server.url, workload?.requests(dataset) ?? [])
  const users = Array.from({ length: userCount }, (_, index): BenchRequest => ({
    method: 'GET',
    path: '/auth/v1/user',
    headers: { Authorization: `Bearer ${sessionToken(index + 1)}` },
    body: undefined,
  }))
  const measured = { oneRow: [] as number[], user: [] as number[], refresh: [] as number[] }
  await read()
  for (let round = 1; round <= rounds; round++) {
    measured.oneRow.push(rate(await read()))
    measured.user.push(rate(await play(root, users)))
    measured.refresh.push(rate(await playRefreshes(context, round)))
  }
  const oneRow = median(measured.oneRow) ?? 0
  const user = median(measured.user) ?? 0
  const refresh = median(measured.refresh) ?? 0
  // Within a round, because the speed of a shared machine changes.
  const share = (rates: readonly number[], goal: number): string => {
    const shares = rates.map((value, round) => value / (measured.oneRow[round] ?? NaN))
    return (
      `${median(rates)?.toFixed(0)} requests/s, ${median(shares)?.toFixed(2)} of one row ` +
      `(goal: ${(goal / goals.of).toFixed(2)})`
    )
  }
  print(`one row: ${oneRow.toFixed(0)} requests/s`)
  print(`GET /auth/v1/user: ${share(measured.user, goals.user)}`)
  print(`refresh: ${share(measured.refresh, goals.refresh)}`)

  const attempts = Array.from({ length: userCount }, (_, index) =>
    signIn('password', { email: `user${index + 1}@example.org`, password }),
  )
  const load = { origin: root.origin, requests: attempts, clients: flood }
  const slowdown = await measureSlowdown(read, load, { rounds })
  print(slowdownLine(slowdown, 'sign-ins', goals.readsSlowdown))
  return { oneRow, user, refresh, readsSlowdown: slowdown.ratio }
}

/** @throws Error if a request was refused: the rate would be that of errors */
function rate({ requests, seconds, refused, broken }: Played): number {
  if (refused + broken > 0) throw new Error(`${refused} requests were refused, and ${broken} broken`)
  return requests / seconds
}

/** Refreshes sessions made for this round, one of each user, in turn. wrk must be installed. */
async function playRefreshes({ server, postgres, options }: Context, round: number): Promise<Played> {
  const tokens = Array.from(
    { length: userCount },
    (_, index) => `bench${String(round).padStart(3, '0')}${String(index).padStart(4, '0')}`,
  )
  await runSql(
    postgres.adminUri(databaseName),
    tokens
      .map((token, index) => {
        const user = userId(index + 1)
        // An earlier run on the same data has left sessions of the same names.
        return `
          delete from auth.sessions where id = md5('${token}')::uuid;
          insert into auth.sessions (id, user_id, aal, created_at, updated_at)
          values (md5('${token}')::uuid, '${user}', 'aal1', now(), now());
          insert into auth.refresh_tokens (token, user_id, session_id, revoked, created_at, updated_at)
          values ('${token}', '${user}', md5('${token}')::uuid, false, now(), now());`
      })
      .join('\n'),
  )
  const { connections, seconds } = options
  const url = new URL('/', server.url)
  const request = rawRequest(signIn('refresh_token', { refresh_token: '????????????' }), url)
  return runWrk('refresh.lua', [request, `${tokens.join('\n')}\n`], { url, connections, seconds })
}
