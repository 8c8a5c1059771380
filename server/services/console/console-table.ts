// All routes of the console. Add a line for the routes of a page.
import type { Route } from '../../http/route.ts'
import { fileRoutes } from './console-files.ts'
import { createConsoleSessions } from './console-sessions.ts'
import type { ConsoleParts, ConsoleSettings } from './console-settings.ts'
import { functionRoutes } from './function-routes.ts'
import { policyRoutes } from './policy-routes.ts'
import { schemaRoutes } from './schema-routes.ts'
import { operationRoutes } from './operation-routes.ts'
import { realtimeRoutes } from './realtime-routes.ts'
import { requestRoutes } from './request-routes.ts'
import { scheduleRoutes } from './schedule-routes.ts'
import { sessionRoutes } from './session-routes.ts'
import { sqlRoutes } from './sql-routes.ts'
import { userRoutes } from './user-routes.ts'
import { webhookRoutes } from './webhook-routes.ts'

export function consoleRoutes(settings: ConsoleSettings): readonly Route[] {
  const sessions = createConsoleSessions(settings)
  const parts: ConsoleParts = {
    ...settings,
    record: async ({ actor }, action, details) => {
      await settings.database.query(
        'insert into rowhouse.console_log (actor, action, details) values ($1, $2, $3::jsonb)',
        [actor, action, JSON.stringify(details)],
      )
    },
  }
  const { access } = sessions
  return [
    ...fileRoutes(),
    ...sessionRoutes(parts, sessions),
    ...schemaRoutes(parts, access),
    ...sqlRoutes(parts, access),
    ...policyRoutes(parts, access),
    ...userRoutes(parts, access),
    ...requestRoutes(parts, access),
    ...realtimeRoutes(parts, access),
    ...webhookRoutes(parts, access),
    ...scheduleRoutes(parts, access),
    ...functionRoutes(parts, access),
    ...operationRoutes(parts, access),
  ]
}
