// Settings of PostgreSQL, the serving role, the number of connections, and extensions.
import type { Config } from '../../config/config.ts'
import { poolShare } from '../../running/workers.ts'
import { isInternalRole } from '../../identity/internal-role.ts'
import { identifier, literal } from '../../text/sql-text.ts'
import type { Level } from '../findings.ts'
import type { DatabaseFacts } from './facts.ts'
import { percent, type DoctorFinding } from './finding.ts'

/** Settings of the server with the value that is wrong. */
const wrongSettings: readonly { name: string; value: string; level: Level; why: string }[] = [
  { name: 'fsync', value: 'off', level: 'ERROR', why: 'A crash of the machine can destroy the whole database.' },
  {
    name: 'full_page_writes',
    value: 'off',
    level: 'ERROR',
    why: 'A crash of the machine can leave torn pages, which lose rows.',
  },
  {
    name: 'autovacuum',
    value: 'off',
    level: 'ERROR',
    why: 'Tables grow without end, statistics become wrong, and in the end writes stop.',
  },
  {
    name: 'track_counts',
    value: 'off',
    level: 'ERROR',
    why: 'Autovacuum does not know which tables need it, and does nothing.',
  },
  {
    name: 'synchronous_commit',
    value: 'off',
    level: 'INFO',
    why: 'A crash loses writes of the last moments that clients think are stored.',
  },
  {
    name: 'password_encryption',
    value: 'md5',
    level: 'WARN',
    why: 'MD5 hashes of passwords can be used to sign in, and are no longer supported after PostgreSQL 18.',
  },
]

export const serverSettingFindings = ({ settings }: DatabaseFacts): DoctorFinding[] =>
  wrongSettings
    .filter(({ name, value }) => settings[name] === value)
    .map(({ name, value, level, why }): DoctorFinding => {
      const right = name === 'password_encryption' ? 'scram-sha-256' : 'on'
      return {
        area: 'settings',
        code: 'server_setting',
        level,
        subject: name,
        what: `PostgreSQL runs with ${name} = ${value}.`,
        why,
        advice: `Set it to ${right}, and reload${name === 'password_encryption' ? '; then set the passwords again' : ''}.`,
        fix: `alter system set ${name} = ${literal(right)}; select pg_reload_conf();`,
      }
    })

/** @param isEmbedded whether the database is the embedded one, which is for development */
export function loginFindings(
  { login }: DatabaseFacts,
  { dbAnonRole }: Pick<Config, 'dbAnonRole'>,
  isEmbedded = false,
): DoctorFinding[] {
  const findings: DoctorFinding[] = []
  const powers = [
    ...(login.isSuperuser ? ['SUPERUSER'] : []),
    ...(login.bypassesRls ? ['BYPASSRLS'] : []),
    ...(login.createsRoles ? ['CREATEROLE'] : []),
  ]
  if (powers.length > 0) {
    findings.push({
      area: 'settings',
      code: 'login_role_powerful',
      level: 'ERROR',
      subject: login.name,
      what: `The role that serves requests has ${powers.join(', ')}.`,
      why: 'It only needs to switch to the roles of requests. A fault in a function can use what it has beyond that.',
      advice: 'Serve with a role that has none of it, such as the one that `rowhouse migrate` creates.',
      fix: `alter role ${identifier(login.name)} ${powers.map((power) => `no${power.toLowerCase()}`).join(' ')};`,
    })
  }
  const anonymous = login.members.find(({ name }) => name === dbAnonRole)
  if (anonymous?.bypassesRls === true) {
    findings.push({
      area: 'settings',
      code: 'anonymous_bypasses_policies',
      level: 'ERROR',
      subject: anonymous.name,
      what: 'The role of requests without credentials bypasses row-level security.',
      why: 'Anyone sees all rows of the tables that it may read.',
      advice: 'Take BYPASSRLS, or SUPERUSER, from it.',
      fix: `alter role ${identifier(anonymous.name)} nosuperuser nobypassrls;`,
    })
  }
  // The server's own roles run its own statements, never those of a request.
  const unlimited = login.members
    .filter(({ name, timeout }) => !isInternalRole(name) && (timeout === null || /^0\D*$/.test(timeout)))
    .map(({ name }) => name)
  if (unlimited.length > 0) {
    findings.push({
      area: 'settings',
      code: 'no_statement_timeout',
      level: isEmbedded ? 'INFO' : 'WARN',
      subject: unlimited.join(', '),
      what: `${unlimited.length === 1 ? 'This role has' : 'These roles have'} no statement_timeout.`,
      why: 'A request whose statement takes for ever occupies a connection for ever; a few of them occupy the pool.',
      advice: 'Set one that is longer than any good statement. It applies at the next request.',
      fix: unlimited.map((name) => `alter role ${identifier(name)} set statement_timeout = '8s';`).join('\n'),
    })
  }
  return findings
}

/** Connections outside the pool of each process: for LISTEN, and for the gates of shared connections. */
const extraConnections = 2

type PoolConfig = Pick<Config, 'dbPool' | 'dbPoolReserve' | 'serverWorkers'>

/** The most connections that a number of processes can open, each with the workers of the settings. */
export function wantedConnections({ dbPool, dbPoolReserve, serverWorkers }: PoolConfig, processes: number): number {
  const ofWorker = (serverWorkers > 1 ? poolShare(dbPool, serverWorkers) : dbPool) + dbPoolReserve + extraConnections
  return ofWorker * Math.max(serverWorkers, 1) * processes
}

/** @param processes how many servers with these settings use the database */
export function connectionFindings(
  { connections, login }: DatabaseFacts,
  config: PoolConfig,
  processes: number,
): DoctorFinding[] {
  const { max, reserved, used, databaseLimit } = connections
  const limits = [max - reserved, databaseLimit, login.connectionLimit].filter((limit) => limit >= 0)
  const available = Math.min(...limits)
  const wanted = wantedConnections(config, processes)
  const findings: DoctorFinding[] = []
  if (wanted > available) {
    findings.push({
      area: 'connections',
      code: 'pool_too_large',
      level: 'ERROR',
      subject: 'PGRST_DB_POOL',
      what:
        `${processes === 1 ? 'The server' : `${processes} servers`} may open ${wanted} connections, and PostgreSQL admits ${available} of ${login.name} ` +
        `(max_connections ${max}, ${reserved} of them reserved).`,
      why: 'Under load, some connections are refused, and other clients of the database get none.',
      advice: 'Lower PGRST_DB_POOL, raise max_connections, or put a pooler in front of the database.',
    })
  }
  if (used > 0.8 * (max - reserved)) {
    findings.push({
      area: 'connections',
      code: 'connections_scarce',
      level: 'WARN',
      subject: 'max_connections',
      what: `${used} of ${max - reserved} connections are in use (${percent(used, max - reserved)}).`,
      why: 'When all are in use, new clients are refused, restarts of this server included.',
      advice: 'Find out who has them (select usename, application_name, count(*) from pg_stat_activity group by 1, 2).',
    })
  }
  return findings
}

export const extensionFindings = ({ extensions }: DatabaseFacts): DoctorFinding[] =>
  extensions
    .filter(({ installed, available }) => installed !== available)
    .map(({ name, installed, available }): DoctorFinding => ({
      area: 'extensions',
      code: 'extension_outdated',
      level: 'WARN',
      subject: name,
      what: `Version ${installed} is installed in the database, and the server has ${available}.`,
      why: 'The library of the new version runs with the SQL of the old one: fixes are missing, and functions may be.',
      advice: 'Read its release notes, and update it.',
      fix: `alter extension ${identifier(name)} update;`,
    }))
