// The hooks of the current settings, which may be reloaded.
import type { AuthHooks } from '../auth-hooks.ts'
import type { HookName, HookSettings } from '../settings.ts'
import { HookSettingError } from './hook-target.ts'
import { createHooks, type HooksOptions } from './hooks.ts'

export type LiveHooksOptions = {
  readonly settings: () => ReadonlyMap<HookName, HookSettings>
  readonly database: HooksOptions['database']
  readonly warn: (message: string) => void
}

/**
 * Creates the hooks again when the settings have changed. Settings that cannot be used after a reload are reported once,
 * and the hooks stay as they were.
 *
 * @throws HookSettingError when the first settings cannot be used
 */
export function liveHooks({ settings, database, warn }: LiveHooksOptions): () => AuthHooks {
  let current = settings()
  let hooks = createHooks({ settings: current, database })
  return () => {
    const latest = settings()
    if (latest === current) return hooks
    current = latest
    try {
      hooks = createHooks({ settings: latest, database })
    } catch (error) {
      if (!(error instanceof HookSettingError)) throw error
      warn(`${error.message}. The hooks stay as they were.`)
    }
    return hooks
  }
}
