// The workloads. All are deterministic: both servers get the same requests in the same order.
import { marker, runId, serviceToken, sessionCookie, userCount, userId, userToken, type Dataset } from './dataset.ts'
import type { BenchRequest } from './request.ts'

export type WorkloadName =
  | 'one-row'
  | 'newest-20'
  | 'filter-100'
  | 'rows-1000'
  | 'embed-50'
  | 'count-exact'
  | 'rpc-scalar'
  | 'insert-minimal'
  | 'insert-full'
  | 'bulk-insert-1000'
  | 'update-one'
  | 'upsert-100'
  | 'not-found'
  | 'bad-filter'
  | 'expired-token'
  | 'report'
  | 'report-list'

export type Workload = {
  readonly name: WorkloadName
  readonly status: number
  /** Rows in a response; undefined if the response is not an array. */
  readonly rows?: number
  /** Whether to compare the whole responses of both servers, or only that both are errors. */
  readonly answer: 'same' | 'error'
  /** The base path: that of the REST API, or the root, which only this server has. */
  readonly mount: 'rest' | 'root'
  /** Inserted rows are deleted between the rounds. */
  readonly writes: boolean
  /** Whether pgbench runs the same statements. */
  readonly ceiling: boolean
  readonly requests: (dataset: Dataset) => readonly BenchRequest[]
}

/** Different requests per workload. Enough to make caching of whole requests useless. */
const variety = 2000

/** A fixed sequence of users and their runs, spread over the data. */
function* someRuns(dataset: Dataset, count: number): Generator<{ user: number; id: string; index: number }> {
  const runsPerUser = dataset.rows / dataset.users
  let state = 12345
  const next = (below: number): number => {
    // The generator of Numerical Recipes: it need not be good, only repeatable.
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
  for (let index = 0; index < count; index++) {
    const user = 1 + next(dataset.users)
    yield { user, id: runId(dataset, user, next(runsPerUser)), index }
  }
}

const tokens = new Map<number, string>()

function authorization(user: number): Record<string, string> {
  let token = tokens.get(user)
  if (token === undefined) tokens.set(user, (token = userToken(user)))
  return { Authorization: `Bearer ${token}`, Accept: 'application/json' }
}

const get = (path: string, user: number): BenchRequest => ({
  method: 'GET',
  path,
  headers: authorization(user),
  body: undefined,
})

const write = (
  method: 'POST' | 'PATCH',
  path: string,
  headers: Readonly<Record<string, string>>,
  prefer: string,
  body: unknown,
): BenchRequest => ({
  method,
  path,
  headers: { ...headers, 'Content-Type': 'application/json', Prefer: prefer },
  body: JSON.stringify(body),
})

const newRun = (index: number) => ({
  image_uri: `https://images.example.org/new/${index}.jpg`,
  image_source: marker,
  result_label: 'scratch',
  confidence: (index % 10_000) / 100,
  is_positive: true,
  recommendation: 'Have a workshop look at it within 30 days.',
  model_version: 'classifier-6',
})

const perRun =
  (make: (run: { user: number; id: string; index: number }) => BenchRequest, count = variety) =>
  (dataset: Dataset): BenchRequest[] =>
    Array.from(someRuns(dataset, count), make)

const read = { status: 200, answer: 'same', mount: 'rest', writes: false, ceiling: false } as const
const change = { status: 201, answer: 'same', mount: 'rest', writes: true, ceiling: false } as const
const mistake = { answer: 'error', mount: 'rest', writes: false, ceiling: false } as const

/** With the default size, a user has a thousand runs. */
export const workloads: readonly Workload[] = [
  {
    ...read,
    name: 'one-row',
    rows: 1,
    ceiling: true,
    requests: perRun(({ user, id }) => get(`/classification_runs?id=eq.${id}`, user)),
  },
  {
    ...read,
    name: 'newest-20',
    rows: 20,
    ceiling: true,
    requests: perRun(({ user }) => get('/classification_runs?order=created_at.desc,id.desc&limit=20', user)),
  },
  {
    ...read,
    name: 'filter-100',
    rows: 100,
    requests: perRun(({ user }) =>
      get('/classification_runs?is_positive=is.true&confidence=gte.50&order=confidence.desc,id.asc&limit=100', user),
    ),
  },
  {
    ...read,
    name: 'rows-1000',
    requests: perRun(({ user }) => get('/classification_runs?order=created_at.desc,id.desc&limit=1000', user)),
  },
  {
    ...read,
    name: 'embed-50',
    rows: 50,
    requests: perRun(({ user }) =>
      get(
        '/classification_runs?select=id,result_label,confidence,created_at,profile:profiles(id,full_name)' +
          '&order=created_at.desc,id.desc&limit=50',
        user,
      ),
    ),
  },
  {
    ...read,
    name: 'count-exact',
    status: 206,
    rows: 10,
    requests: perRun(({ user }) => {
      const request = get('/classification_runs?select=id,result_label&order=created_at.desc,id.desc&limit=10', user)
      return { ...request, headers: { ...request.headers, Prefer: 'count=exact' } }
    }),
  },
  {
    ...read,
    name: 'rpc-scalar',
    ceiling: true,
    requests: perRun(({ user, index }) =>
      write('POST', '/rpc/bench_add', authorization(user), 'count=none', { a: index, b: 1 }),
    ),
  },
  {
    ...change,
    name: 'insert-minimal',
    ceiling: true,
    requests: perRun(({ user, index }) =>
      write('POST', '/classification_runs', authorization(user), 'return=minimal', newRun(index)),
    ),
  },
  {
    ...change,
    name: 'insert-full',
    rows: 1,
    requests: perRun(({ user, index }) =>
      write('POST', '/classification_runs', authorization(user), 'return=representation', newRun(index)),
    ),
  },
  {
    ...change,
    name: 'bulk-insert-1000',
    requests: perRun(({ user }) => {
      const rows = Array.from({ length: 1000 }, (_, index) => newRun(index))
      return write('POST', '/classification_runs', authorization(user), 'return=minimal', rows)
    }, 20),
  },
  {
    ...change,
    name: 'update-one',
    status: 204,
    ceiling: true,
    requests: perRun(({ user, id, index }) =>
      write('PATCH', `/classification_runs?id=eq.${id}`, authorization(user), 'return=minimal', {
        recommendation: `Have a workshop look at it within ${index} days.`,
      }),
    ),
  },
  {
    ...change,
    name: 'upsert-100',
    // PostgREST responds with 200 if it inserted nothing.
    status: 200,
    requests: (dataset) => {
      const headers = { Authorization: `Bearer ${serviceToken()}`, Accept: 'application/json' }
      // Every request has its own rows, so that concurrent ones do not wait for each other's locks.
      return Array.from({ length: 200 }, (_, user) => {
        const rows = Array.from({ length: 100 }, (_, run) => ({
          ...newRun(run),
          image_source: 'camera',
          id: runId(dataset, user + 1, run),
          user_id: userId(user + 1),
        }))
        return write('POST', '/classification_runs', headers, 'resolution=merge-duplicates,return=minimal', rows)
      })
    },
  },
  {
    ...mistake,
    name: 'not-found',
    status: 404,
    requests: perRun(({ user, id }) => get(`/no_such_table?id=eq.${id}`, user)),
  },
  {
    ...mistake,
    name: 'bad-filter',
    status: 400,
    requests: perRun(({ user, id }) => get(`/classification_runs?id=equals.${id}`, user)),
  },
  {
    ...mistake,
    name: 'expired-token',
    status: 401,
    requests: perRun(({ user, id }) => ({
      ...get(`/classification_runs?id=eq.${id}`, user),
      headers: { Authorization: `Bearer ${userToken(user, 1_700_000_000)}`, Accept: 'application/json' },
    })),
  },
  {
    ...change,
    name: 'report',
    mount: 'root',
    requests: perRun(({ user, index }) => ({
      method: 'POST',
      path: '/report',
      headers: { Cookie: sessionCookie(1 + (user % userCount)), 'Content-Type': 'application/json' },
      body: JSON.stringify({
        manufacturer: marker,
        model: 'Model T',
        year: 2000 + (index % 20),
        mileage: 10_000 + index,
        price: 500 + index,
        lat: 52.5,
        lng: 13.4,
      }),
    })),
  },
  {
    ...read,
    name: 'report-list',
    mount: 'root',
    requests: perRun(({ user }) => ({
      method: 'GET',
      path: '/report',
      headers: { Cookie: sessionCookie(1 + (user % userCount)) },
      body: undefined,
    })),
  },
]

/**
 * The workloads with these names, or all of them.
 *
 * @throws Error listing the known names if a name is unknown
 */
export function chosenWorkloads(names: readonly string[]): readonly Workload[] {
  const unknown = names.filter((name) => !workloads.some((workload) => workload.name === name))
  if (unknown.length > 0) {
    const known = workloads.map(({ name }) => name).join(', ')
    throw new Error(`There is no workload ${unknown.join(', ')}. There are: ${known}.`)
  }
  return names.length === 0 ? workloads : workloads.filter(({ name }) => names.includes(name))
}
