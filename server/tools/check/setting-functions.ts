// Functions that the server calls by itself, because a setting names them.
import { authAdminRole } from '../../identity/internal-role.ts'
import type { Config } from '../../config/config.ts'

export type SettingFunction = {
  /** The setting that names it. */
  readonly setting: string
  /** Null: it is looked up in the search_path. */
  readonly schema: string | null
  readonly name: string
  /** The role that calls it; null for the role of each request. */
  readonly role: string | null
}

export type FunctionSettings = Partial<Pick<Config, 'dbPreRequest' | 'dbRootSpec' | 'authHooks'>>

const hookPath = /^pg-functions:\/\/[^/]+\/([^/]+)\/([^/]+)$/

/** The functions of `db-pre-request`, `db-root-spec` and the hooks of sign-in. */
export function settingFunctions({ dbPreRequest, dbRootSpec, authHooks }: FunctionSettings): SettingFunction[] {
  const ofRequests = [
    ['db-pre-request', dbPreRequest],
    ['db-root-spec', dbRootSpec],
  ] as const
  return [
    ...ofRequests.flatMap(([setting, named]) =>
      named ? [{ setting, schema: named.schema === '' ? null : named.schema, name: named.name, role: null }] : [],
    ),
    ...[...(authHooks ?? [])].flatMap(([hook, { uri }]) => {
      const [, schema, name] = hookPath.exec(uri ?? '') ?? []
      return schema === undefined || name === undefined
        ? []
        : [{ setting: `GOTRUE_HOOK_${hook.toUpperCase()}_URI`, schema, name, role: authAdminRole }]
    }),
  ]
}
