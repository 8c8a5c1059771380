// Settings that are unsafe, or contradict each other. Names are those of the environment.
import type { Config } from '../../config/config.ts'
import { isLoopbackHost } from '../../text/loopback-host.ts'
import { missingAddresses } from '../../config/missing-addresses.ts'
import { missingSecrets } from '../../config/missing-secrets.ts'
import type { Level } from '../findings.ts'
import type { DoctorFinding } from './finding.ts'

type Rule = {
  readonly code: string
  readonly level: Level
  readonly subject: string
  readonly applies: (config: Config, isEmbedded: boolean) => boolean
  readonly what: (config: Config) => string
  readonly why: string
  readonly advice: string
}

const rules: readonly Rule[] = [
  {
    code: 'transactions_roll_back',
    level: 'ERROR',
    subject: 'PGRST_DB_TX_END',
    applies: ({ dbTxEnd }) => dbTxEnd.startsWith('rollback'),
    what: ({ dbTxEnd }) => `It is ${dbTxEnd}.`,
    why: 'Writes succeed, and nothing is stored: it is meant for tests.',
    advice: 'Set it to commit.',
  },
  {
    code: 'clients_choose_rollback',
    level: 'INFO',
    subject: 'PGRST_DB_TX_END',
    applies: ({ dbTxEnd }) => dbTxEnd === 'commit-allow-override',
    what: () => 'Clients may end transactions with Prefer: tx=rollback.',
    why: 'That is meant for tests: a client that sends it by mistake stores nothing.',
    advice: 'Set it to commit, unless clients need it.',
  },
  {
    code: 'plans_are_public',
    level: 'WARN',
    subject: 'PGRST_DB_PLAN_ENABLED',
    applies: ({ dbPlanEnabled }) => dbPlanEnabled,
    what: () => 'Every caller may see the plans of statements.',
    why: 'Plans show policies, row counts of hidden rows and the structure of tables.',
    advice: 'Set it to false. EXPLAIN_ROLES lets chosen roles explain requests.',
  },
  {
    code: 'anonymous_explains',
    level: 'ERROR',
    subject: 'EXPLAIN_ROLES',
    applies: ({ explainRoles, dbAnonRole }) => dbAnonRole !== null && explainRoles.includes(dbAnonRole),
    what: ({ dbAnonRole }) => `It includes ${dbAnonRole}, the role of requests without credentials.`,
    why: 'Anyone may see policies with their claims, and how many rows they hide.',
    advice: 'Leave that role out.',
  },
  {
    code: 'documents_show_everything',
    level: 'WARN',
    subject: 'DOCS_MODE, PGRST_OPENAPI_MODE',
    applies: ({ docsMode, openapiMode }, isEmbedded) =>
      (docsMode === 'ignore-privileges' && !isEmbedded) || openapiMode === 'ignore-privileges',
    what: () => 'The API documents show all tables and functions to everyone.',
    why: 'They tell an attacker what there is, also where the privileges would hide it.',
    advice: 'Set them to follow-privileges.',
  },
  {
    code: 'cookies_without_secure',
    level: 'ERROR',
    subject: 'SECURE_COOKIES',
    applies: ({ secureCookies, serverHost, serverUnixSocket }) =>
      secureCookies === false && serverUnixSocket === null && !isLoopbackHost(serverHost),
    what: ({ serverHost }) => `It is false, and the server listens on ${serverHost}.`,
    why: 'Browsers send session cookies over http, too, where they can be read on the way.',
    advice: 'Remove it, or set it to true.',
  },
  {
    code: 'listens_without_tls',
    level: 'INFO',
    subject: 'HOST',
    applies: ({ serverHost, serverUnixSocket }) => serverUnixSocket === null && !isLoopbackHost(serverHost),
    what: ({ serverHost }) => `The server listens on ${serverHost}, and speaks http only.`,
    why: 'Who can reach the port directly bypasses the TLS and the limits of the proxy.',
    advice: 'Listen on 127.0.0.1 behind a proxy on the same machine, or let a firewall admit the proxy only.',
  },
  {
    code: 'tokens_outlive_sessions',
    level: 'WARN',
    subject: 'GOTRUE_SESSIONS_CHECK_ACCESS_TOKENS',
    applies: ({ authSessionsCheckAccessTokens }) => !authSessionsCheckAccessTokens,
    what: ({ authJwtExp }) => `It is false: access tokens outlive their session by up to ${authJwtExp} s.`,
    why: 'A stolen token is good until it expires, also after a sign-out, a ban, another password, or the end of the account.',
    advice: 'Remove it, unless programs count on such tokens; then make GOTRUE_JWT_EXP short.',
  },
  {
    code: 'statements_in_log',
    level: 'INFO',
    subject: 'PGRST_LOG_QUERY',
    applies: ({ logQuery }) => logQuery,
    what: () => 'The SQL of each request is logged.',
    why: 'The log grows with every request, and writing it takes time.',
    advice: 'Set it to false when you have seen what you wanted to.',
  },
  {
    code: 'nothing_is_shed',
    level: 'WARN',
    subject: 'LOAD_SHEDDING_WAIT',
    applies: ({ loadSheddingWait }) => loadSheddingWait === 0,
    what: () => 'It is 0.',
    why: 'Under more load than the server can serve, all requests become late instead of some being refused.',
    advice: 'Remove it, or set it to the milliseconds that a request may wait.',
  },
  {
    code: 'waits_contradict',
    level: 'WARN',
    subject: 'LOAD_SHEDDING_WAIT',
    applies: ({ loadSheddingWait, dbPoolAcquisitionTimeout }) =>
      dbPoolAcquisitionTimeout > 0 && loadSheddingWait > dbPoolAcquisitionTimeout * 1000,
    what: ({ loadSheddingWait, dbPoolAcquisitionTimeout }) =>
      `It is ${loadSheddingWait} ms, more than PGRST_DB_POOL_ACQUISITION_TIMEOUT (${dbPoolAcquisitionTimeout} s).`,
    why: 'Requests time out with 504 before any is refused early.',
    advice: 'Set it well below the timeout.',
  },
  {
    code: 'long_work_takes_pool',
    level: 'WARN',
    subject: 'REST_EXPORT_LIMIT, REST_IMPORT_SLOTS',
    applies: ({ restExportLimit, restImportSlots, dbPool }) => restExportLimit + restImportSlots >= dbPool,
    what: ({ restExportLimit, restImportSlots, dbPool }) =>
      `${restExportLimit} exports and ${restImportSlots} imports at once can occupy all ${dbPool} connections of PGRST_DB_POOL.`,
    why: 'While they run, all other requests wait, and then fail.',
    advice: 'Make them together smaller than the pool.',
  },
  {
    code: 'pool_smaller_than_workers',
    level: 'WARN',
    subject: 'SERVER_WORKERS',
    applies: ({ serverWorkers, dbPool }) => serverWorkers > 1 && dbPool < 2 * serverWorkers,
    what: ({ serverWorkers, dbPool }) => `${serverWorkers} workers share ${dbPool} connections of PGRST_DB_POOL.`,
    why: 'A worker with one connection cannot keep a share of it for reads: a write that waits for a lock stops them all.',
    advice: 'Set PGRST_DB_POOL to at least twice the number of workers.',
  },
]

export function settingsFindings(config: Config, isEmbedded: boolean): DoctorFinding[] {
  // With the embedded database, the server takes secrets from its data folder.
  const settings = isEmbedded ? [] : [...missingSecrets(config), ...missingAddresses(config)]
  const missing = settings.map(({ name, consequence }): DoctorFinding => ({
    area: 'settings',
    code: 'setting_missing',
    level: 'WARN',
    subject: name,
    what: 'It is not set.',
    why: `${consequence.charAt(0).toUpperCase()}${consequence.slice(1)}.`,
    advice: 'Set it; see “rowhouse help settings”.',
  }))
  const broken = rules
    .filter(({ applies }) => applies(config, isEmbedded))
    .map(({ code, level, subject, what, why, advice }): DoctorFinding => ({
      area: 'settings',
      code,
      level,
      subject,
      what: what(config),
      why,
      advice,
    }))
  return [...missing, ...broken]
}
