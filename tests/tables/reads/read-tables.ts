// The request and response tables of reads, over `tests/fixtures/reads.sql`. The responses are those of PostgREST 16.2.
import type { Environment } from '../../../server/config/config-sources.ts'
import type { RequestTable } from '../../support/request-table.ts'
import { aggregates } from './aggregates.ts'
import { choice } from './choice.ts'
import { embedConditions } from './embed-conditions.ts'
import { embeds } from './embeds.ts'
import { filters } from './filters.ts'
import { functions } from './functions.ts'
import { grammar } from './grammar.ts'
import { headers } from './headers.ts'
import { logic } from './logic.ts'
import { pages } from './pages.ts'
import { representations } from './representations.ts'
import { select } from './select.ts'
import { settingsTables } from './settings.ts'
import { spreads } from './spreads.ts'

/** The settings of the server of every table, before those of the table. */
export const commonSettings: Environment = { PGRST_DB_AGGREGATES_ENABLED: 'true' }

export const readTables: readonly RequestTable[] = [
  filters,
  logic,
  select,
  aggregates,
  embeds,
  embedConditions,
  choice,
  spreads,
  pages,
  representations,
  functions,
  headers,
  grammar,
  ...settingsTables,
]
