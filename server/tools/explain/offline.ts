// Explains a request without a server: with the settings of the program and the schema of the database.
import type { Config } from '../../config/config.ts'
import type { Identity } from '../../identity/identity.ts'
import type { Caller, RestTransaction } from '../../rest/database.ts'
import { extensionsOf, partsOf } from '../../rest/extension.ts'
import { createExtensions } from '../../rest/extensions/list.ts'
import type { RestRequest } from '../../rest/rest-request.ts'
import { readRoleSettings } from '../../rest/role-settings.ts'
import { noRoleSettings } from '../../rest/settings.ts'
import { Snapshot } from '../../rest/snapshot.ts'
import type { BodyValidator } from '../../rest/validation.ts'
import { loadSchemaCache } from '../../catalogue/load.ts'
import { identityOf, type CallerWish } from './caller.ts'
import type { ScratchDatabase } from '../../running/serve-tools.ts'
import { Explainer, type ExplainerOptions } from './explainer.ts'
import type { Explanation } from './explanation.ts'

export type OfflineRequest = {
  readonly method: string
  /** Path below the mount path and query string, percent-encoded, with a leading slash. */
  readonly target: string
  /** Lower-case names. */
  readonly headers: readonly (readonly [string, string])[]
  readonly body: Buffer
}

export type OfflineOptions = {
  readonly database: ScratchDatabase
  readonly config: Config
  readonly validator: BodyValidator
}

/**
 * Explains a request of a caller.
 *
 * @param trusted functions whose effects are accepted
 * @throws CommandError for an unknown caller; the error of the database
 */
export type ExplainOffline = (
  asked: OfflineRequest,
  caller: CallerWish,
  trusted?: readonly string[],
) => Promise<Explanation>

/** Loads the schema, with which any number of requests can be explained. */
export async function loadOffline({ database, config, validator }: OfflineOptions): Promise<ExplainOffline> {
  const reading: Pick<RestTransaction, 'caller' | 'isolation'> = { caller: patient, isolation: 'repeatable read' }
  const snapshot = await database.scratch(reading, async ({ query }) => {
    const roleSettings = config.dbConfig ? await readRoleSettings(query) : noRoleSettings
    const schemaCache = await loadSchemaCache(query, {
      schemas: config.dbSchemas,
      extraSearchPath: config.dbExtraSearchPath,
      hoistedSettings: config.dbHoistedTxSettings,
    })
    const extensions = extensionsOf(createExtensions({ settings: config }))
    return new Snapshot({ config, roleSettings }, schemaCache, partsOf(extensions))
  })
  return async (asked, caller, trusted = []) => {
    const identity: Identity = await database.scratch(reading, ({ query }) =>
      identityOf(query, caller, config.dbAnonRole),
    )
    return explainFully({ database, snapshot: () => snapshot, validator }, asked, identity, {
      trusted,
      restBasePath: config.restBasePath,
    })
  }
}

type Reader = Pick<Caller, 'isGone' | 'onGone'>

type FullOptions = {
  readonly trusted: readonly string[]
  readonly restBasePath: string
  /** Who waits for the explanation; by default one who does not go. */
  readonly reader?: Reader
}

/**
 * Explains a request for a reader who may know everything about the database.
 *
 * @throws the error of the database
 */
export async function explainFully(
  options: Omit<ExplainerOptions, 'identify'>,
  asked: OfflineRequest,
  identity: Identity,
  { trusted, restBasePath, reader = patient }: FullOptions,
): Promise<Explanation> {
  const explainer = new Explainer({ ...options, identify: () => identity })
  const request = requestOf(asked, restBasePath, reader)
  const { explanation, failure } = await explainer.explain(request, { trusted, discloses: true })
  if (!explanation) throw failure
  return explanation
}

const patient = { isGone: false, onGone: () => () => undefined }

const requestOf = (
  { method, target, headers, body }: OfflineRequest,
  restBasePath: string,
  reader: Reader,
): RestRequest => ({
  get isGone() {
    return reader.isGone
  },
  onGone: (listener) => reader.onGone(listener),
  method,
  target,
  headers,
  basePath: restBasePath === '/' ? '' : restBasePath,
  source: undefined,
  isOpenEnded: false,
  isAborted: false,
  header: (name) => headers.find(([known]) => known === name)?.[1],
  readBody: () => Promise.resolve(body),
})
