// How the settings of `/auth/v1` are defined.
import type { AuthSettings } from '../services/auth/settings.ts'
import type { Setting } from './setting.ts'

export { supabaseSetting as authSetting } from './service-setting.ts'

export type AuthSettingTable<Key extends keyof AuthSettings> = { readonly [K in Key]: Setting<AuthSettings[K]> }
