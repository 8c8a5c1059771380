// The console.
import { lazy } from '../common/lazy.ts'
import { version } from '../common/version.ts'
import type { EnvelopeTools } from '../http/envelope-dialect.ts'
import type { Router } from '../http/router.ts'
import type { Snapshot } from '../rest/snapshot.ts'
import type { AuthService } from '../services/auth/create-auth.ts'
import { createConsole } from '../services/console/create-console.ts'
import type { ConsoleSettings } from '../services/console/console-settings.ts'
import type { RealtimeService } from '../services/realtime/create-realtime.ts'
import type { ServiceSettings } from './live-settings.ts'
import type { Parts } from './composition-parts.ts'

/** The console, if the server has it. */
export function startConsole(
  parts: Parts,
  auth: AuthService | undefined,
  services: {
    readonly realtime: () => RealtimeService | undefined
    readonly functions: ConsoleSettings['functions']
  },
  tools: EnvelopeTools,
): Router | undefined {
  const { config, env, configFile, tail: requests } = parts
  if (!requests) return undefined
  // With `on`, a proxy on the same machine may pass on requests of others.
  const isDevelopment = parts.isDevelopment && config.console === 'development'
  const ownerUri = isDevelopment ? config.migrationDatabaseUrl : null
  const snapshot = (): Snapshot<ServiceSettings> => parts.engine.snapshot
  const settings: ConsoleSettings = {
    ...parts,
    snapshot,
    isDevelopment,
    requests,
    realtime: async () => services.realtime()?.view(),
    functions: services.functions,
    replicas: () =>
      parts.replicas().map(({ lagSeconds, ...replica }) => ({
        ...replica,
        lagSeconds: Number.isFinite(lagSeconds) ? lagSeconds : null,
      })),
    hasMailbox: auth?.context.mailer.mailbox !== undefined,
    secureCookies: parts.sessions.secureCookies,
    version,
    ownerUri,
    tools: lazy(() =>
      parts.console({ ...parts, env, configFile, isDevelopment, ownerUri, config: parts.current, snapshot }),
    ),
  }
  return createConsole(settings, tools)
}
