// Errors of the store and of the database as responses of `/storage/v1`.
import t from 'tap'
import { credentialErrors } from '../../../server/identity/credential-error.ts'
import { sizeLimit } from '../../../server/services/storage/bucket-limits.ts'
import { byteRange } from '../../../server/services/storage/byte-range.ts'
import { storageErrorOf } from '../../../server/services/storage/database-storage-error.ts'
import { MissingBytesError, NoSpaceError, TooManyBytesError } from '../../../server/services/storage/object-store.ts'
import { storageErrors } from '../../../server/services/storage/storage-error.ts'
import { errorBody } from '../../../server/services/storage/storage-response.ts'

const ofServer = (code: string, message = 'secret_table', detail = ''): Error =>
  Object.assign(new Error(message), { server: { code, message, detail, severity: 'ERROR' } })

t.test('errors become responses without internals', (t) => {
  const rows: readonly (readonly [Error, number, string, string, string])[] = [
    [new MissingBytesError(), 400, '404', 'NoSuchKey', 'The resource was not found'],
    [new TooManyBytesError(), 400, '413', 'EntityTooLarge', 'The object exceeded the maximum allowed size'],
    [new NoSpaceError(), 507, '507', 'InternalError', 'The server has no space left for the object'],
    [new Error('ENOENT /home/secret_table'), 500, '500', 'InternalError', 'Internal Server Error'],
    [
      ofServer('42501', 'new row violates row-level security policy for table "secret_table"'),
      400,
      '403',
      'AccessDenied',
      'new row violates row-level security policy',
    ],
    [ofServer('23505'), 400, '409', 'ResourceAlreadyExists', 'The resource already exists'],
    [ofServer('23503'), 400, '404', 'InvalidRequest', 'The related resource does not exist'],
    [
      ofServer('23503', 'x', 'Key (id)=(b) is still referenced from table "objects".'),
      400,
      '409',
      'ResourceReferenced',
      'The resource could not be updated or removed due to a foreign key constraint',
    ],
    [ofServer('55P03'), 400, '423', 'ResourceLocked', 'The resource is locked'],
    [ofServer('57014'), 544, '544', 'DatabaseTimeout', 'The connection to the database timed out'],
    [
      ofServer('25006'),
      400,
      '503',
      'DatabaseReadOnly',
      'The database is currently in read-only mode. Please try again later.',
    ],
    [
      ofServer('42P17'),
      400,
      '503',
      'DatabaseInvalidObjectDefinition',
      'The database schema is invalid or incompatible.',
    ],
    [
      ofServer('42P01'),
      503,
      '503',
      'DatabaseSchemaMismatch',
      'The database is not set up for storage: `rowhouse migrate` has not run',
    ],
    [ofServer('22P05'), 400, '400', 'InvalidParameter', 'Text must not contain the character NUL'],
    [ofServer('53300'), 503, '503', 'DatabaseError', 'The database is not available at the moment'],
    [ofServer('XX000'), 500, '500', 'DatabaseError', 'database error, code: XX000'],
    [credentialErrors.invalidClaims('JWT expired'), 400, '403', 'AccessDenied', '"exp" claim timestamp check failed'],
    [
      credentialErrors.invalidToken('Expected 3 parts in JWT; got 1'),
      400,
      '403',
      'AccessDenied',
      'Invalid Compact JWS',
    ],
  ]
  for (const [error, httpStatus, statusCode, code, message] of rows) {
    const known = storageErrorOf(error)
    const body = JSON.parse(errorBody(known)) as Record<string, unknown>
    t.match(
      { ...body, httpStatus: known.httpStatus },
      { httpStatus, statusCode, code, message },
      `${code} ${statusCode}`,
    )
    t.notMatch(errorBody(known), /secret_table/)
  }
  t.end()
})

t.test('size limits', (t) => {
  const rows: readonly (readonly [string | number | null, number | null])[] = [
    ...([
      [null, null],
      ['', null],
      [5, 5],
      ['1', 1],
      ['3B', 3],
      ['1kb', 1000],
      ['1.5MB', 1_500_000],
      ['2GB', 2_000_000_000],
      ['1.2345MB', 1_230_000],
    ] as const),
  ]
  for (const [given, size] of rows) t.equal(sizeLimit(given, 5_000_000_000), size, String(given))
  for (const wrong of ['MB', '1 MB', '-1MB', '1TB', '1e3B', '1.MB'])
    t.throws(() => sizeLimit(wrong, 10), storageErrors.invalidFileSizeLimit(), wrong)
  t.throws(() => sizeLimit('11B', 10), storageErrors.tooLarge())
  t.end()
})

t.test('ranges', (t) => {
  t.strictSame(byteRange('bytes=0-0', 1), { start: 0, end: 0 })
  t.strictSame(byteRange('bytes=-5', 3), { start: 0, end: 2 })
  t.strictSame(byteRange('bytes=2-', 3), { start: 2, end: 2 })
  for (const same of ['bytes= 0-1', 'Bytes=0-1', ' bytes =0-1 ']) t.strictSame(byteRange(same, 3), { start: 0, end: 1 })
  for (const wrong of ['bytes=3-', 'bytes=1-0', 'bytes=-0', 'bytes=-', 'bytes=0 -1', 'bytes=0-1,2-2']) {
    t.equal(byteRange(wrong, 3), undefined, wrong)
  }
  t.equal(byteRange('bytes=0-', 0), undefined)
  t.end()
})
