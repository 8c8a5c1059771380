// The database as `/storage/v1` uses it: under the role of the caller, or under the role that owns its tables.
import { Bulkhead } from './bulkhead.ts'
import { lastingIdentity, type Identity } from '../../identity/identity.ts'
import { storageAdminRole } from '../../identity/internal-role.ts'
import { identityValues, resetRole, set, setIdentity, setReadOnly, SettingsText } from '../../identity/settings-text.ts'
import type { Access } from '../../postgres/admission.ts'
import type { Database } from '../../postgres/database.ts'
import { JsonStatement, type Parameter, type TextRow } from '../../postgres/json-statement.ts'
import type { SettingsStatement } from '../../rest/database.ts'
import { namedSession, requireSession, sessionValues, type NamedSession } from '../../rest/sql/session.ts'

/** The role that owns the tables, so that row-level security does not apply to it. */
export const storageAdmin: Identity = lastingIdentity(storageAdminRole, {})

/** For whom, and for which request, a transaction acts. Policies can read all of it. */
export type StorageScope = {
  readonly identity: Identity
  /** `storage.object.upload` and the like, for `storage.operation()`. */
  readonly operation: string
  readonly method: string
  /** Below `/storage/v1`, with the query string. */
  readonly path: string
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
}

export type StorageDatabase = {
  /**
   * Runs one statement in one round trip, under the role of the caller and its policies.
   *
   * @returns the parsed first column of every row
   */
  readonly ask: (scope: StorageScope, statement: JsonStatement, values: readonly Parameter[]) => Promise<unknown[]>
  /** The same, with all columns of every row as text. */
  readonly askRows: (scope: StorageScope, statement: JsonStatement, values: readonly Parameter[]) => Promise<TextRow[]>
  /** The same, with the effect of the statement rolled back: finds out whether the caller may do it. */
  readonly tryOut: (scope: StorageScope, statement: JsonStatement, values: readonly Parameter[]) => Promise<TextRow[]>
  /** Runs one statement as the owner of the tables, on behalf of a request whose data triggers can read. */
  readonly askAsAdmin: (
    scope: StorageScope,
    statement: JsonStatement,
    values: readonly Parameter[],
  ) => Promise<TextRow[]>
  /** Requires that the session of the caller's token is active, for requests without a statement under its role. */
  readonly requireSession: (scope: StorageScope) => Promise<void>
  /** Runs one statement as the owner of the tables, for no request in particular. */
  readonly admin: (statement: JsonStatement, values: readonly Parameter[]) => Promise<TextRow[]>
}

const setRequest = [
  'request.method',
  'request.path',
  'request.headers',
  // Supabase's trigger protects the tables from statements without it.
  'storage.operation',
  'storage.allow_delete_query',
].map(set)

const settingsText = (access: Access, checksSession: boolean): SettingsText =>
  new SettingsText([
    ...(access === 'read' ? [setReadOnly] : []),
    resetRole,
    ...(checksSession ? [requireSession] : []),
    ...setIdentity,
    ...setRequest,
  ])

const plainTexts = { read: settingsText('read', false), write: settingsText('write', false) }
const checkingTexts = { read: settingsText('read', true), write: settingsText('write', true) }

const withoutNul = (text: string): string => text.replaceAll('\0', '')

/** @param session is checked first, if given */
function scopeSettings(scope: StorageScope, access: Access, session: NamedSession | undefined): SettingsStatement {
  const { identity, operation, method, path, headers } = scope
  const texts = (session ? checkingTexts : plainTexts)[access]
  return {
    text: texts.plain,
    values: [
      ...sessionValues(session),
      ...identityValues(identity),
      method,
      withoutNul(path),
      JSON.stringify(headers),
      operation,
      'true',
    ],
    hasNoEffect: true,
    texts,
    checksSession: session !== undefined,
  }
}

/** For its settings only, which check the session. */
const nothing = new JsonStatement('select null', { access: 'read', hasNoEffect: true })

/** Milliseconds after its last transaction in which the REST API counts as in use. */
const restInUse = 20

/**
 * Milliseconds that a write waits for others at most, while the REST API is in use. The p99 of reads during uploads by four clients was 9.8 ms with the
 * bulkhead and 11.1 ms without, medians of ten rounds in turn, at the same number of uploads.
 */
const longestWait = 50

/** @param checksSessions see `Snapshot`, read at each request */
export function storageDatabase(
  database: Pick<Database, 'askRows' | 'runWith' | 'sinceRequest'>,
  checksSessions: () => boolean,
): StorageDatabase {
  const writes = new Bulkhead({ isShared: () => database.sinceRequest() < restInUse, longestWait })
  const run = (
    scope: StorageScope,
    statement: JsonStatement,
    values: readonly Parameter[],
    rollback: boolean,
  ): Promise<TextRow[]> => {
    const session = checksSessions() ? namedSession(scope.identity) : undefined
    const settings = scopeSettings(scope, statement.access, session)
    const start = (): Promise<TextRow[]> => database.runWith(statement, settings, values, { rollback })
    return statement.access === 'write' ? writes.run(start) : start()
  }
  const askRows: StorageDatabase['askRows'] = (scope, statement, values) => run(scope, statement, values, false)
  return {
    askRows,
    ask: async (scope, statement, values) =>
      (await askRows(scope, statement, values)).map(([field = null]): unknown =>
        field === null ? null : JSON.parse(field),
      ),
    tryOut: (scope, statement, values) => run(scope, statement, values, true),
    askAsAdmin: (scope, statement, values) => run({ ...scope, identity: storageAdmin }, statement, values, false),
    requireSession: async (scope) => {
      if (checksSessions() && namedSession(scope.identity)) await askRows(scope, nothing, [])
    },
    admin: (statement, values) => database.askRows(statement, storageAdmin, values),
  }
}
