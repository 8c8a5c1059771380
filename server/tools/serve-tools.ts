// What `serve` does for people. Each part is loaded when it is needed.
import type { ServeTools } from '../running/serve-tools.ts'

export const serveTools: ServeTools = {
  migrate: async (database) => (await import('./serve-migrations.ts')).migrateAtStart(database),
  warnOfPending: async (database) => (await import('./serve-migrations.ts')).warnOfPending(database),
  watchMigrations: async (database, signal) =>
    (await import('./serve-migrations.ts')).watchWhileServing(database, signal),
  addSampleData: async (database) => (await import('./command-line/sample-data.ts')).addSampleAtStart(database),
  greet: async (database, greeting) => (await import('./greeting.ts')).greet(database, greeting),
  console: async (options) => (await import('./console/console-tools.ts')).createConsoleTools(options),
  explain: async (options) => (await import('./explain/http.ts')).explaining(options),
  preview: async (options) => (await import('./explain/preview.ts')).previewing(options),
}
