// The statement that sets the role, the search path and the data of the request for a transaction.
// https://docs.postgrest.org/en/stable/references/transactions.html#transaction-scoped-settings
import type { SettingsStatement } from '../database.ts'
import type { RestSettings, RoleSettings } from '../settings.ts'
import type { Identity } from '../../identity/identity.ts'
import {
  identityValues,
  resetIfSet,
  resetRole,
  set,
  setIdentity,
  setNamed,
  setReadOnly,
  SettingsText,
} from '../../identity/settings-text.ts'
import type { QualifiedIdentifier } from '../../catalogue/identifier.ts'
import { countEmbeds } from '../plan/embed-count.ts'
import type { CrudPlan, InspectPlan } from '../plan/plan.ts'
import type { ReadPlan } from '../plan/read-plan.ts'
import type { PlannedRequest } from '../request/api-request.ts'
import { lenientUtf8Text } from '../request/query-string.ts'
import type { Fragment } from './fragment.ts'
import { cutAtNul, identifier, qualified } from './identifier.ts'
import { requireSession, sessionValues, type NamedSession } from './session.ts'

/** Only functions, keyset pages and reads with many embeds have settings of their own. */
type SettingsPlan =
  | Pick<Extract<CrudPlan, { kind: 'call' }>, 'kind' | 'routine' | 'readOnly' | 'page' | 'read'>
  | {
      readonly kind: Exclude<CrudPlan['kind'], 'call'> | InspectPlan['kind']
      readonly readOnly: boolean
      readonly page?: CrudPlan['page']
      readonly read?: ReadPlan
    }
type Pair = readonly [string, string]

/**
 * The text of values in cursors is exact, and independent of the settings of a role: in other date styles, the names of
 * time zones are ambiguous, and with fewer digits a row is not equal to its own cursor. Keeps the order of day and month
 * in values of the request.
 */
const ofPages: readonly Pair[] = [
  ['extra_float_digits', '1'],
  ['datestyle', 'ISO'],
]

/** Embeds above which PostgreSQL looks for no other order of joins: with fifty, that takes a second and 200 MB. */
const mostOrdered = 16
const ofJoins: readonly Pair[] = [['join_collapse_limit', '1']]

/** Headers or cookies as a JSON object. The last of repeated names wins. */
function pairsJson(pairs: readonly Pair[]): string {
  if (pairs.length === 0) return '{}'
  const members: Record<string, string> = {}
  // Takes less time than `Object.fromEntries`, whose objects are dictionaries.
  for (const [name, value] of pairs) {
    // Assigning it would set the prototype.
    if (name === '__proto__') return JSON.stringify(Object.fromEntries(pairs))
    members[name] = value
  }
  return JSON.stringify(members)
}

/** The properties that determine the text of a settings statement. Everything else is a parameter. */
type TextShape = {
  readonly checksSession: boolean
  readonly readOnly: boolean
  /** Numbers of settings whose names are parameters: set before switching to the role, and set at the end. */
  readonly before: number
  readonly after: number
  readonly timezone: boolean
}

const resetResponse = ['response.headers', 'response.status'].map((name) => resetIfSet(name, ''))

const setRequest = ['request.method', 'request.path', 'request.headers', 'request.cookies'].map(set)

const settingsText = ({ checksSession, readOnly, before, after, timezone }: TextShape): SettingsText =>
  new SettingsText([
    ...(checksSession ? [requireSession] : []),
    ...(readOnly ? [setReadOnly] : []),
    ...resetResponse,
    // The settings of the role need the privileges of the login role.
    ...(before > 0 ? [resetRole] : []),
    set('search_path'),
    ...Array.from({ length: before }, () => setNamed),
    ...setIdentity,
    ...setRequest,
    ...(timezone ? [set('timezone')] : []),
    ...Array.from({ length: after }, () => setNamed),
  ])

const noPairs: readonly Pair[] = []
const noNames: readonly string[] = []

const namesOf = (own: readonly Pair[], timezone: string | undefined): readonly string[] => [
  ...own.map(([name]) => name),
  ...(timezone === undefined ? [] : ['timezone']),
]

const hasManyJoins = ({ read }: SettingsPlan): boolean =>
  read !== undefined && read.embeds.length > 0 && countEmbeds(read) > mostOrdered

/** Texts by the result of `flagsOf`. */
type TextsByFlags = (SettingsText | undefined)[]

const flagsOf = ({ checksSession, readOnly, timezone }: TextShape): number =>
  (checksSession ? 1 : 0) + (readOnly ? 2 : 0) + (timezone ? 4 : 0)

/** Creates settings statements for one configuration. Caches search paths and texts. */
export class SettingsStatements {
  readonly #config: Pick<RestSettings, 'dbExtraSearchPath' | 'appSettings'>
  readonly #roleSettings: RoleSettings['settings']
  /** By schema. */
  readonly #searchPaths = new Map<string, string>()
  /** By the numbers of settings `before` and `after`. */
  readonly #texts = new Map<number, Map<number, TextsByFlags>>()

  constructor(config: Pick<RestSettings, 'dbExtraSearchPath' | 'appSettings'>, { settings }: RoleSettings) {
    this.#config = config
    this.#roleSettings = settings
  }

  /**
   * The statement that applies all settings, local to the transaction. The settings of the role come before switching
   * to the role, which may lack the privilege to set them. For a read-only plan, the statement also makes the
   * transaction read-only, which avoids a BEGIN.
   *
   * @param session is checked first, if given
   */
  statement(
    identity: Identity,
    { shape, input }: PlannedRequest,
    plan: SettingsPlan,
    session?: NamedSession,
  ): SettingsStatement {
    const { appSettings } = this.#config
    const { timezone } = shape.preferences
    const before = this.#roleSettings.get(identity.role) ?? noPairs
    const ofRoutine = plan.kind === 'call' ? plan.routine.settings : noPairs
    let own = plan.page === undefined ? ofRoutine : [...ofRoutine, ...ofPages]
    if (hasManyJoins(plan)) own = [...own, ...ofJoins]
    const values: (string | null)[] = [...sessionValues(session)]
    values.push(this.#searchPathOf(shape.schema))
    for (const pair of before) values.push(...pair)
    values.push(
      ...identityValues(identity),
      shape.method,
      lenientUtf8Text(shape.path),
      pairsJson(input.headers),
      pairsJson(input.cookies),
    )
    if (timezone !== undefined) values.push(timezone)
    for (const pair of own) values.push(...pair)
    for (const pair of appSettings) values.push(...pair)
    const texts = this.#textsOf({
      checksSession: session !== undefined,
      readOnly: plan.readOnly,
      before: before.length,
      after: own.length + appSettings.length,
      timezone: timezone !== undefined,
    })
    for (const [index, value] of values.entries()) if (value?.includes('\0') === true) values[index] = cutAtNul(value)
    const ofRequest = own.length === 0 && timezone === undefined ? noNames : namesOf(own, timezone)
    return { text: texts.plain, values, hasNoEffect: true, texts, checksSession: session !== undefined, ofRequest }
  }

  /** The search path of a request: its schema, followed by `db-extra-search-path`. */
  #searchPathOf(schema: string): string {
    let path = this.#searchPaths.get(schema)
    if (path === undefined) {
      path = [schema, ...this.#config.dbExtraSearchPath].map(identifier).join(', ')
      this.#searchPaths.set(schema, path)
    }
    return path
  }

  #textsOf(shape: TextShape): SettingsText {
    const { before, after } = shape
    let byAfter = this.#texts.get(before)
    if (!byAfter) this.#texts.set(before, (byAfter = new Map<number, TextsByFlags>()))
    let byFlags = byAfter.get(after)
    if (!byFlags) byAfter.set(after, (byFlags = []))
    return (byFlags[flagsOf(shape)] ??= settingsText(shape))
  }
}

/** The call of `db-pre-request`, which runs after the settings and before the main statement. */
export const preRequestStatement = (routine: QualifiedIdentifier): Fragment => `select ${qualified(routine)}()`
