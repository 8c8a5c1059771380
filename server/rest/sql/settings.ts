// What a transaction is told before the main statement: who acts, where names are looked up, what the request was.
// https://docs.postgrest.org/en/v14/references/transactions.html#transaction-scoped-settings
import type { PostgrestConfig, RoleSettings } from '../../config/config.ts'
import { claimsText, type Identity } from '../../identity/identity.ts'
import type { QualifiedIdentifier } from '../../schema-cache/identifier.ts'
import type { CrudPlan, InspectPlan } from '../plan/plan.ts'
import type { ApiRequest } from '../request/api-request.ts'
import { join } from './fragment.ts'
import type { Fragment } from './fragment.ts'
import { identifier, qualified } from './identifier.ts'
import { parameter } from './parameter.ts'

type SettingsRequest = Pick<ApiRequest, 'method' | 'path' | 'headers' | 'cookies' | 'schema' | 'preferences'>
type Pair = readonly [string, string]

const set = (name: string, value: string): Fragment => [`set_config('${name}', `, parameter(value), ', true)']
const setNamed = ([name, value]: Pair): Fragment => ['set_config(', parameter(name), ', ', parameter(value), ', true)']

/** JSON object of header or cookie pairs; of repeated names the last one stays. */
const pairsJson = (pairs: readonly Pair[]): string => JSON.stringify(Object.fromEntries(pairs))

/**
 * `select set_config(…), …`, all local to the transaction. Settings of the role are made before the role is taken: it
 * may not be allowed to make them itself. A read-only plan also makes the transaction read-only, so that no BEGIN has
 * to say so.
 */
export function settingsStatement(
  identity: Identity,
  request: SettingsRequest,
  plan: CrudPlan | InspectPlan,
  config: Pick<PostgrestConfig, 'dbExtraSearchPath' | 'appSettings'>,
  roleSettings: RoleSettings,
): Fragment {
  const { timezone } = request.preferences
  const searchPath = [request.schema, ...config.dbExtraSearchPath].map(identifier).join(', ')
  const calls: Fragment[] = []
  if (plan.readOnly) calls.push("set_config('transaction_read_only', 'on', true)")
  calls.push(set('search_path', searchPath))
  for (const pair of roleSettings.settings.get(identity.role) ?? []) calls.push(setNamed(pair))
  calls.push(
    set('role', identity.role),
    set('request.jwt.claims', claimsText(identity)),
    set('request.method', request.method),
    set('request.path', request.path),
    set('request.headers', pairsJson(request.headers)),
    set('request.cookies', pairsJson(request.cookies)),
  )
  if (timezone !== undefined) calls.push(set('timezone', timezone))
  if (plan.kind === 'call') for (const pair of plan.routine.settings) calls.push(setNamed(pair))
  for (const pair of config.appSettings) calls.push(setNamed(pair))
  return ['select ', join(calls, ', ')]
}

/** The call of `db-pre-request`, which runs after the settings and before the main statement. */
export const preRequestStatement = (routine: QualifiedIdentifier): Fragment => `select ${qualified(routine)}()`
