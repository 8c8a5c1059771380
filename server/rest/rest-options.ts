// The options of `createRest`, and their validation.
import { nearestName } from '../text/nearest-name.ts'
import type { Identity } from '../identity/identity.ts'
import type { EngineDatabase } from './database.ts'
import type { Identify, RestObservation } from './handler.ts'
import type { ImportEvent } from './extensions/imports/import-progress.ts'
import { defaultSettings, type LoadSettings, type RestSettings } from './settings.ts'
import type { SchemaEvent } from './engine-event.ts'
import type { BodyValidator } from './validation.ts'

/** Settings of `createRest`: PostgREST's names in camel case, with its defaults. */
export type RestOptionSettings = Partial<Omit<RestSettings & LoadSettings, 'dbSchemas'>>

export type RestOptions = {
  /** The result of `connect` of `rowhouse/postgres`. `createRest` does not close it. */
  readonly database: EngineDatabase
  /** Exposed schemas (`db-schemas`), at least one; the first is the default. */
  readonly schemas: readonly string[]
  /** Returns the role and the claims that a request runs with. The role that connects must be a member of that role. */
  readonly identify: Identify
  /** PostgREST's settings in camel case: `db-max-rows` is `dbMaxRows`. */
  readonly settings?: RestOptionSettings
  /**
   * Secrets that encrypt the cursors of keyset pages, and sign the positions of writes, the current one first, each at
   * least 32 characters. Processes that serve the same clients need the same ones. By default, cursors and positions are
   * valid in the process that created them only.
   */
  readonly cursorSecrets?: readonly string[]
  /** With replicas: whether the cookie with the position of a write has the attribute `Secure`. By default true. */
  readonly secureCookies?: boolean
  /** Validates request bodies before they are sent to the database. Defaults to no validation. */
  readonly validator?: BodyValidator
  /** Called once for every request, before its response is sent. Its errors go to the console. */
  readonly onRequest?: (observation: RestObservation) => void
  /** Called from time to time while an import runs, and at its end. Its errors go to the console. */
  readonly onImport?: (event: ImportEvent) => void
  /** Called after each attempt to load the schema cache. By default, failures are written to the console, as its errors are. */
  readonly onSchema?: (event: SchemaEvent) => void
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

/**
 * The given settings, with defaults for the others.
 *
 * @throws TypeError naming the invalid option or setting and its allowed values
 */
export function settingsOf({
  database,
  schemas,
  identify,
  cursorSecrets = [],
  settings = {},
}: RestOptions): RestSettings & LoadSettings {
  // Callers may use JavaScript, where no compiler checks the types.
  const given: { readonly database: unknown; readonly schemas: unknown } = { database, schemas }
  if (!isObject(given.database) || !('run' in given.database) || !('read' in given.database)) {
    throw new TypeError('createRest: database must be the result of connect() of rowhouse/postgres')
  }
  if (typeof identify !== 'function') throw new TypeError('createRest: identify must be a function')
  if (!Array.isArray(given.schemas) || schemas.length === 0 || !schemas.every((name) => typeof name === 'string')) {
    throw new TypeError('createRest: schemas must be an array of at least one name')
  }
  if (
    !Array.isArray(cursorSecrets) ||
    !cursorSecrets.every((secret) => typeof secret === 'string' && secret.length >= 32)
  ) {
    throw new TypeError('createRest: cursorSecrets must be an array of strings of at least 32 characters')
  }
  for (const [name, value] of Object.entries(settings)) checkSetting(name, value)
  const chosen = Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined))
  return { ...defaultSettings, ...chosen, dbSchemas: schemas }
}

const qualified = 'an object { schema, name } or null'
const nullable: Readonly<Record<string, readonly [(value: unknown) => boolean, string]>> = {
  dbAnonRole: [(value) => typeof value === 'string', 'a string or null'],
  dbMaxCost: [(value) => Number.isSafeInteger(value) && Number(value) >= 0, 'a whole number or null'],
  dbMaxEmbedDepth: [(value) => Number.isSafeInteger(value) && Number(value) >= 0, 'a whole number or null'],
  dbMaxRows: [(value) => Number.isSafeInteger(value) && Number(value) >= 0, 'a whole number or null'],
  dbPreRequest: [isObject, qualified],
  dbRootSpec: [isObject, qualified],
  openapiServerProxyUri: [(value) => typeof value === 'string', 'a string or null'],
  serverTraceHeader: [(value) => typeof value === 'string', 'a string or null'],
}
const choices: Readonly<Record<string, readonly string[]>> = {
  clientErrorVerbosity: ['verbose', 'minimal'],
  dbPoolSharing: ['all', 'reads', 'none'],
  dbTxEnd: ['commit', 'commit-allow-override', 'rollback', 'rollback-allow-override'],
  openapiMode: ['follow-privileges', 'ignore-privileges', 'disabled'],
}

/** @throws TypeError naming the setting and its allowed values */
function checkSetting(name: string, value: unknown): void {
  const fail = (allowed: string): never => {
    throw new TypeError(`createRest: the setting ${name} is ${JSON.stringify(value)}, but must be ${allowed}`)
  }
  if (name === 'dbSchemas') throw new TypeError('createRest: use schemas instead of the setting dbSchemas')
  if (!Object.hasOwn(defaultSettings, name)) {
    const nearest = nearestName(name, Object.keys(defaultSettings))
    const hint = nearest === undefined ? '' : `; did you mean ${nearest}?`
    throw new TypeError(`createRest: there is no setting ${name}${hint}`)
  }
  if (value === undefined) return
  const rule = nullable[name]
  if (rule) {
    const [isValid, allowed] = rule
    if (value !== null && !isValid(value)) fail(allowed)
    return
  }
  const allowed = choices[name]
  if (allowed) {
    if (!allowed.some((choice) => choice === value)) fail(`one of ${allowed.join(', ')}`)
    return
  }
  const defaultValue: unknown = defaultSettings[name as keyof typeof defaultSettings]
  if (Array.isArray(defaultValue)) {
    if (!Array.isArray(value)) fail('an array')
  } else if (typeof defaultValue === 'number') {
    if (!Number.isSafeInteger(value) || Number(value) < 0) fail('a whole number, 0 or more')
  } else if (typeof value !== typeof defaultValue) fail(`a ${typeof defaultValue}`)
}

/** An `identify` whose result is checked: see `RestOptions`. */
export const checkedIdentify =
  (identify: Identify): Identify =>
  (request) => {
    const claimed = identify(request)
    return isThenable(claimed) ? Promise.resolve(claimed).then(checkIdentity) : checkIdentity(claimed)
  }

/** Promises of other libraries and realms are not instances of this realm's `Promise`. */
const isThenable = <T extends object>(value: T | Promise<T>): value is Promise<T> =>
  value instanceof Promise || typeof (value as { readonly then?: unknown } | undefined)?.then === 'function'

/**
 * Checks the result of `identify`, because users of the package may write JavaScript.
 *
 * @throws TypeError saying what is wrong
 */
function checkIdentity(identity: unknown): Identity {
  const fail = (problem: string): never => {
    throw new TypeError(`identify must return { role, claims } or a promise of it, but ${problem}`)
  }
  if (typeof identity !== 'object' || identity === null)
    fail(`returned ${identity === null ? 'null' : typeof identity}`)
  const { role, claims, claimsText } = identity as Readonly<Record<keyof Identity, unknown>>
  if (typeof role !== 'string' || role === '') fail('role is not the name of a role')
  if (typeof claims !== 'object' || claims === null || Array.isArray(claims)) fail('claims is not an object')
  if (claimsText !== undefined && typeof claimsText !== 'string') fail('claimsText is not a string')
  return identity as Identity
}
