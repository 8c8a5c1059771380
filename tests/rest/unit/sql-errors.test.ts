import t from 'tap'
import { credentialErrors } from '../../../server/identity/credential-error.ts'
import { connectionErrors } from '../../../server/postgres/connection-error.ts'
import { errors } from '../../../server/rest/errors.ts'
import { serverError, toApiError, transactionError, withCode } from '../../../server/rest/sql-errors.ts'

const raised = (code: string, message = 'm', detail?: string, hint?: string) => ({
  severity: 'ERROR',
  code,
  message,
  detail,
  hint,
})

const statuses: readonly (readonly [state: string, status: number, message?: string])[] = [
  ['08006', 503],
  ['09000', 500],
  ['0L000', 403],
  ['0P000', 403],
  ['23502', 400],
  ['23503', 409],
  ['23505', 409],
  ['25006', 405],
  ['25P02', 500],
  ['21000', 500, 'more than one row returned by a subquery used as an expression'],
  ['21000', 400, 'UPDATE requires a WHERE clause'],
  ['22P02', 400],
  ['22023', 401, 'role "x" does not exist'],
  ['22023', 400, 'role "x" is odd'],
  ['22023', 400, 'unrecognized time zone'],
  ['28000', 403],
  ['2D000', 500],
  ['38000', 500],
  ['39000', 500],
  ['3B000', 500],
  ['40001', 500],
  ['42501', 403],
  ['42601', 400],
  ['42883', 404],
  ['42883', 406, 'function xmlagg(jsonb) does not exist'],
  ['42P01', 404],
  ['42P17', 500],
  ['53300', 503],
  ['53400', 500],
  ['54001', 500],
  ['55000', 500],
  ['57014', 500],
  ['57P01', 503],
  ['58000', 500],
  ['F0000', 500],
  ['HV000', 500],
  ['P0001', 400],
  ['P0002', 500],
  ['XX000', 500],
  ['ZZ999', 400],
  ['PT402', 402],
  ['PT999', 999],
  ['PT099', 500],
  ['PT101', 500],
  ['PTABC', 500],
]

for (const [state, status, message] of statuses) {
  t.test(`${state} ${message ?? ''}`, async (t) => {
    const error = toApiError(raised(state, message, 'd', 'h'), true)
    t.match(error, { code: state, details: 'd', hint: 'h' })
    t.equal(error.status, status)
    t.strictSame(error.headers, status === 401 ? [['WWW-Authenticate', 'Bearer']] : [])
  })
}

t.test('a 401 response asks for credentials', async (t) => {
  const error = toApiError(raised('42501', 'permission denied'), false)
  t.equal(error.status, 401)
  t.strictSame(error.headers, [['WWW-Authenticate', 'Bearer']])
  t.equal(error.details, null)
  t.equal(error.hint, null)
})

t.test('the message of a PTxyz error is the reason phrase', async (t) => {
  t.equal(toApiError(raised('PT402', 'Pay up'), true).statusText, 'Pay up')
  t.equal(toApiError(raised('PTABC', 'Pay up'), true).statusText, undefined)
  t.equal(toApiError(raised('P0001', 'Pay up'), true).statusText, undefined)
})

t.test('a function can raise a whole response', async (t) => {
  const error = toApiError(
    raised(
      'PGRST',
      '{"code":"123","message":"ABC","details":"DEF","hint":null,"more":1}',
      '{"status":332,"status_text":"My Status","headers":{"X-B":"2","X-A":"1"}}',
    ),
    true,
  )
  t.equal(error.status, 332)
  t.equal(error.code, '123')
  t.equal(error.message, 'ABC')
  t.equal(error.details, 'DEF')
  t.equal(error.hint, null)
  t.equal(error.statusText, 'My Status')
  t.strictSame(error.headers, [
    ['X-A', '1'],
    ['X-B', '2'],
  ])
})

const message = '{"code":"1","message":"m"}'
const unreadable: readonly (readonly [message: string, detail: string | undefined, part: RegExp])[] = [
  ['x', '{}', /^Invalid JSON value for MESSAGE: 'x'$/],
  ['[]', '{}', /MESSAGE/],
  ['{"code":"1"}', '{}', /MESSAGE/],
  ['{"code":1,"message":"m"}', '{}', /MESSAGE/],
  ['{"code":"1","message":"m","details":{}}', '{}', /MESSAGE/],
  ['{"code":"1","message":"m","hint":3}', '{}', /MESSAGE/],
  [message, undefined, /^DETAIL is missing in the RAISE statement$/],
  [message, '', /DETAIL: ''/],
  [message, '{}', /DETAIL: '{}'/],
  [message, '{"status":"200","headers":{}}', /DETAIL/],
  [message, '{"status":200.5,"headers":{}}', /DETAIL/],
  [message, '{"status":100,"headers":{}}', /DETAIL/],
  [message, '{"status":200}', /DETAIL/],
  [message, '{"status":200,"headers":[]}', /DETAIL/],
  [message, '{"status":200,"headers":null}', /DETAIL/],
  [message, '{"status":200,"headers":{"X":1}}', /DETAIL/],
  [message, '{"status":200,"headers":{"X\\r\\nY":"1"}}', /DETAIL/],
  [message, '{"status":200,"headers":{},"status_text":1}', /DETAIL/],
]

for (const [text, detail, part] of unreadable) {
  t.test(`invalid: ${text} ${detail}`, async (t) => {
    const error = toApiError(raised('PGRST', text, detail), true)
    t.match(error, { code: 'PGRST121', status: 500, details: part })
    t.strictSame(error.headers, [])
  })
}

t.test('errors of the connection', async (t) => {
  const refused = toApiError({ code: 'ECONNREFUSED', syscall: 'connect', message: 'connect ECONNREFUSED' }, true)
  t.match(refused, { code: 'PGRST000', status: 503, details: 'connect ECONNREFUSED' })
  const unknown = toApiError({ code: 'ENOTFOUND', syscall: 'getaddrinfo', message: 'getaddrinfo ENOTFOUND x' }, true)
  t.match(unknown, { code: 'PGRST000', status: 503 })
  // Five capital letters, as in a SQLSTATE.
  const broken = toApiError({ code: 'EPIPE', syscall: 'write', message: 'write EPIPE' }, true)
  t.match(broken, { code: 'PGRST001', status: 503, details: 'write EPIPE' })
  const closed = toApiError(new Error('Connection terminated unexpectedly'), true)
  t.match(closed, { code: 'PGRST001', status: 503 })
})

t.test('errors that reject a transaction', (t) => {
  const failed = Object.assign(new Error('no'), {
    kind: 'statement failed',
    server: { severity: 'ERROR', code: '42501', message: 'permission denied' },
  })
  const known = errors.path()
  const rows: [unknown, object][] = [
    [failed, { code: '42501', status: 401, message: 'permission denied' }],
    [
      connectionErrors.notConnected('refused', new Error('refused')),
      { code: 'PGRST000', status: 503, details: 'refused' },
    ],
    [connectionErrors.timedOut(), { code: 'PGRST003', status: 504 }],
    [connectionErrors.callerGone(), { status: 499 }],
    [new Error('Connection terminated'), { code: 'PGRST001', status: 503, details: 'Connection terminated' }],
    [known, { code: 'PGRST125', status: 404 }],
  ]
  for (const [error, expected] of rows) t.match(transactionError(error, false), expected)
  t.equal(transactionError(known, false), known)
  t.equal(transactionError(failed, true).status, 403)
  t.equal(serverError(failed), failed.server)
  t.equal(serverError(connectionErrors.timedOut()), undefined)
  t.end()
})

t.test('errors of credentials and connections get their codes, others are unchanged', (t) => {
  const rows: [unknown, object][] = [
    [credentialErrors.noSecret(), { code: 'PGRST300', status: 500 }],
    [credentialErrors.invalidToken('bad', 'why'), { code: 'PGRST301', status: 401, message: 'bad', details: 'why' }],
    [credentialErrors.anonymousDisabled(), { code: 'PGRST302', status: 401 }],
    [credentialErrors.invalidClaims('JWT expired'), { code: 'PGRST303', status: 401, message: 'JWT expired' }],
    [connectionErrors.timedOut(), { code: 'PGRST003' }],
  ]
  for (const [error, expected] of rows) t.match(withCode(error), expected)
  for (const other of [new Error('other'), errors.path(), undefined]) t.equal(withCode(other), other)
  t.end()
})

t.test('expected errors have no stack trace', (t) => {
  for (const error of [errors.path(), credentialErrors.noSecret(), connectionErrors.timedOut()]) {
    t.ok(error instanceof Error)
    t.equal(error.stack, undefined)
    t.match(String(error), /^(Api|Credential|Connection)Error: \w/)
    t.notOk(Object.keys(error).includes('message'), 'as for every error, it is not enumerable')
  }
  const cause = new Error('cause')
  t.equal(connectionErrors.notConnected('refused', cause).cause, cause)
  t.end()
})
