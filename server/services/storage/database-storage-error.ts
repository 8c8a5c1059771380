// Maps errors of the database, and of shared code, to errors of `/storage/v1`.
import { CredentialError } from '../../identity/credential-error.ts'
import { isNotMigrated, isOverloaded, isUnreachable, sqlState } from '../../postgres/database-error.ts'
import { MissingBytesError, NoSpaceError, TooManyBytesError } from './object-store.ts'
import { StorageError, storageErrors } from './storage-error.ts'

type ServerFields = { readonly message?: string; readonly detail?: string }

function serverFields(error: unknown): ServerFields {
  if (!(error instanceof Error)) return {}
  return ('server' in error ? error.server : error) as ServerFields
}

/** The response to an error: its own, that of the database, or 500 without details. */
export function storageErrorOf(error: unknown): StorageError {
  if (error instanceof StorageError) return error
  if (error instanceof CredentialError) return credentialStorageError(error)
  if (error instanceof MissingBytesError) return storageErrors.noBytes(error)
  if (error instanceof TooManyBytesError) return storageErrors.tooLarge()
  if (error instanceof NoSpaceError) return storageErrors.noSpace(error)
  return databaseStorageError(error) ?? storageErrors.internal(error)
}

/** Messages of the original, by those of the REST API. */
const tokenMessages = new Map([
  ['JWT expired', '"exp" claim timestamp check failed'],
  ['JWT not yet valid', '"nbf" claim timestamp check failed'],
  ['JWT issued at future', '"iat" claim timestamp check failed (it should be in the past)'],
  ['No suitable key or wrong key type', 'signature verification failed'],
  ['JWT cryptographic operation failed', 'Invalid Compact JWS'],
  ['Empty JWT is sent in Authorization header', 'Invalid Compact JWS'],
])

/** The error of an invalid token or API key. */
function credentialStorageError(error: CredentialError): StorageError {
  const message = error.message.startsWith('Expected 3 parts')
    ? 'Invalid Compact JWS'
    : tokenMessages.get(error.message)
  return storageErrors.accessDenied(message ?? error.message, error)
}

function databaseStorageError(error: unknown): StorageError | undefined {
  const { message = '', detail = '' } = serverFields(error)
  switch (sqlState(error)) {
    // `auth.check_session`
    case 'PGRST':
      return storageErrors.accessDenied('The session of this token has ended', error)
    case '42501':
      return message.includes('row-level security')
        ? storageErrors.rowSecurity(error)
        : storageErrors.accessDenied(message, error)
    case '23505':
      return storageErrors.resourceExists(error)
    // A constraint of the operator: its name is in the message.
    case '23514':
      return storageErrors.invalidRequest(message)
    case '23503':
      return detail.includes('is still referenced from table')
        ? new StorageError(
            409,
            'ResourceReferenced',
            'The resource could not be updated or removed due to a foreign key constraint',
            { cause: error },
          )
        : storageErrors.relatedResourceMissing(error)
    case '55P03':
    case '40P01':
      return storageErrors.resourceLocked(error)
    case '57014':
      return new StorageError(544, 'DatabaseTimeout', 'The connection to the database timed out', {
        httpStatus: 544,
        cause: error,
      })
    case '25006':
      return new StorageError(
        503,
        'DatabaseReadOnly',
        'The database is currently in read-only mode. Please try again later.',
        { cause: error },
      )
    case '42P17':
      return new StorageError(
        503,
        'DatabaseInvalidObjectDefinition',
        'The database schema is invalid or incompatible.',
        { cause: error },
      )
    // untranslatable_character, character_not_in_repertoire
    case '22P05':
    case '22021':
      return storageErrors.invalidParameter('value', 'Text must not contain the character NUL')
    // string_data_right_truncation, program_limit_exceeded: longer than a column or an entry of an index.
    case '22001':
    case '54000':
      return storageErrors.invalidParameter('value', `A text is too long: ${message}`)
    case '22P02':
      return storageErrors.invalidParameter('value')
    default:
      return unavailable(error)
  }
}

function unavailable(error: unknown): StorageError | undefined {
  if (isNotMigrated(error) || sqlState(error) === '42703') {
    return new StorageError(
      503,
      'DatabaseSchemaMismatch',
      'The database is not set up for storage: `rowhouse migrate` has not run',
      { httpStatus: 503, cause: error },
    )
  }
  if (isOverloaded(error)) return storageErrors.overloaded(error)
  if (isUnreachable(error)) return storageErrors.databaseUnavailable(error)
  const state = sqlState(error)
  return state === undefined
    ? undefined
    : new StorageError(500, 'DatabaseError', `database error, code: ${state}`, { cause: error })
}
