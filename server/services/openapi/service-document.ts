// `GET /openapi.json`: describes what the caller may use of the whole service.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Database } from '../../postgres/database.ts'
import type { RunQuery } from '../../postgres/run-query.ts'
import { sqlState } from '../../postgres/database-error.ts'
import type { ApiKeyLookup } from '../../identity/api-key/api-key-lookup.ts'
import { authenticate } from '../../identity/authenticate.ts'
import type { Identity } from '../../identity/identity.ts'
import type { JwtVerifier } from '../../identity/jwt/jwt.ts'
import { ApiError, errors } from '../../rest/errors.ts'
import { errorResponse } from '../../rest/response/error.ts'
import { checkSession, namedSession, sessionValues } from '../../rest/sql/session.ts'
import type { LoadedSettings, Snapshot as RestSnapshot } from '../../rest/snapshot.ts'
import { transactionError, withCode } from '../../rest/sql-errors.ts'
import { privilegeQueries, visibleSchema } from '../../rest/openapi/model.ts'
import type { SchemaCache } from '../../catalogue/schema-cache.ts'
import type { SchemaFile } from '../../validation/schema-directory.ts'
import type { ServiceRoute } from '../../http/service-route.ts'

type Snapshot = RestSnapshot<
  LoadedSettings & {
    readonly config: {
      /** Whether the document shows what the caller may use, or everything. */
      readonly docsMode: 'follow-privileges' | 'ignore-privileges'
      readonly restBasePath: string
      /** Mount path of the image analysis. */
      readonly imageBasePath: string
    }
    readonly verifier: JwtVerifier
  }
>

export type ServiceDocumentOptions = {
  /** The current settings and schema cache. */
  readonly snapshot: () => Snapshot
  /** Checks whether the session of a token has ended. */
  readonly query: RunQuery
  /** Reads the caller's privileges. */
  readonly database: Pick<Database, 'transaction'>
  readonly lookupApiKey: ApiKeyLookup
  /** The identity of a request's session cookie; undefined without a valid cookie. */
  readonly cookieIdentity: (request: IncomingMessage) => Promise<Identity | undefined>
  readonly schemas: readonly SchemaFile[]
  readonly version: string
  /** The service's own routes. */
  readonly routes: () => Promise<readonly ServiceRoute[]>
}

/**
 * Rejects a token whose session has ended, as the REST API does.
 *
 * @throws ApiError 401, or the error of the database
 */
async function requireLiveSession(identity: Identity, { checksSessions }: Snapshot, query: RunQuery): Promise<void> {
  const session = checksSessions ? namedSession(identity) : undefined
  if (!session) return
  try {
    await query(`select ${checkSession('$1', '$2', '$3')}`, [...sessionValues(session)])
  } catch (error) {
    throw transactionError(error, true)
  }
}

/**
 * A handler that sends the OpenAPI 3.1 document. It describes the REST resources of the default schema that the caller
 * has privileges on. Credentials identify the caller, or else the session cookie. With `docs-mode=ignore-privileges` or
 * `openapi-mode=ignore-privileges` it describes all of them, with `openapi-mode=disabled` none.
 */
export function serviceDocumentHandler(options: ServiceDocumentOptions) {
  // Documents are expensive, so they are cached per role. There are few roles, and a snapshot never changes.
  let current: { readonly snapshot: Snapshot; readonly byRole: Map<string, Promise<string>> } | undefined
  const documentFor = (identity: Identity, snapshot: Snapshot, cache: SchemaCache): Promise<string> => {
    if (current?.snapshot !== snapshot) current = { snapshot, byRole: new Map<string, Promise<string>>() }
    const { byRole } = current
    const known = byRole.get(identity.role)
    if (known) return known
    const document = makeDocument(identity, snapshot, cache, options)
    byRole.set(identity.role, document)
    document.catch(() => byRole.delete(identity.role))
    return document
  }
  return (request: IncomingMessage, response: ServerResponse): void => {
    void respond(request, response, options, documentFor)
  }
}

async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  { snapshot: current, query, lookupApiKey, cookieIdentity }: ServiceDocumentOptions,
  documentFor: (identity: Identity, snapshot: Snapshot, cache: SchemaCache) => Promise<string>,
): Promise<void> {
  const snapshot = current()
  try {
    const { authorization, apikey } = request.headers
    const bySession = authorization === undefined && apikey === undefined ? await cookieIdentity(request) : undefined
    const identity =
      bySession ??
      (await authenticate(
        authorization,
        Array.isArray(apikey) ? apikey[0] : apikey,
        snapshot.loaded.verifier,
        lookupApiKey,
      ))
    if (!snapshot.schemaCache) throw errors.noSchemaCache('The schema cache is not loaded')
    if (!bySession) await requireLiveSession(identity, snapshot, query)
    const body = await documentFor(identity, snapshot, snapshot.schemaCache).catch((error: unknown) => {
      // The database rejects a role that does not exist, or that the login role may not switch to.
      throw sqlState(error) === undefined
        ? error
        : transactionError(error, identity.role !== snapshot.config.dbAnonRole)
    })
    response.writeHead(200, {
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Length': Buffer.byteLength(body),
      Vary: [response.getHeader('Vary'), 'Authorization, apikey, Cookie'].filter(Boolean).join(', '),
    })
    response.end(request.method === 'HEAD' ? undefined : body)
  } catch (thrown) {
    const error = withCode(thrown)
    const answer = errorResponse(error instanceof ApiError ? error : errors.internal(error), 'verbose')
    response.writeHead(answer.status, answer.headers.flat())
    response.end(answer.body)
  }
}

async function makeDocument(
  identity: Identity,
  { config }: Snapshot,
  cache: SchemaCache,
  { database, schemas, version, routes }: ServiceDocumentOptions,
): Promise<string> {
  const [schema = 'public'] = config.dbSchemas
  const showsAll = config.openapiMode === 'ignore-privileges' || config.docsMode === 'ignore-privileges'
  const [tables, routines] = privilegeQueries(schema)
  const readPrivileges = () =>
    database.transaction(
      identity,
      async (query) =>
        [await query(tables.text, [...tables.values]), await query(routines.text, [...routines.values])] as const,
      'read',
    )
  const visible =
    config.openapiMode === 'disabled'
      ? { tables: [], routines: [], relationships: cache.relationships }
      : visibleSchema(schema, cache, showsAll ? undefined : await readPrivileges())
  const { serviceDocument } = await import('./document.ts')
  return JSON.stringify(
    serviceDocument({
      ...visible,
      schemas: schemas.map(({ schema: content }) => content),
      exposedSchemas: config.dbSchemas,
      restBasePath: config.restBasePath,
      anonymous: config.dbAnonRole !== null,
      version,
      operations: await routes(),
    }),
  )
}
