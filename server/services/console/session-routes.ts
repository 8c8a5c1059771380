// `/console/api/session`, `/tokens` and `/overview`: signing in, as whom one looks, and the first page.
import { defineEnvelopeRoute, type Access } from '../../http/envelope-dialect.ts'
import type { Route } from '../../http/route.ts'
import { done, dto, failure, success } from '../../http/service-response.ts'
import { withoutPassword } from '../../postgres/connection/connection-string.ts'
import { authAdmin } from '../auth/auth-database.ts'
import type { ConsoleCaller, ConsoleParts, ConsoleSettings } from './console-settings.ts'
import { requireOwnPage, type ConsoleSessions } from './console-sessions.ts'
import type { ChangeNote, ConsoleSession, ConsoleSignIn, Overview, TokenRequest } from './protocol.ts'
import { createViewerTokens, viewerRoles } from './viewer.ts'

const open: Access<undefined> = { security: [], errors: {}, identify: () => undefined }

export function sessionRoutes(parts: ConsoleParts, sessions: ConsoleSessions): readonly Route[] {
  const { access } = sessions
  const tokenOf = createViewerTokens(parts)
  return [
    defineEnvelopeRoute({
      method: 'get',
      path: '/console/api/session',
      id: 'consoleSession',
      tag: 'console',
      summary: 'The session of the cookie',
      access: open,
      success: success(200, 'The session.', { type: 'object' }),
      errors: {
        401: failure('You are not signed in to the console.'),
        403: failure('The request comes from a page of another site.'),
      },
      handler: async ({ request }) => {
        requireOwnPage(request)
        return { details: await sessionOf(parts, await sessions.find(request)) }
      },
    }),
    defineEnvelopeRoute({
      method: 'post',
      path: '/console/api/session',
      id: 'consoleSignIn',
      tag: 'console',
      summary: 'Sign in to the console',
      access: open,
      body: dto<ConsoleSignIn>('ConsoleSignInDto'),
      success: success(201, 'The session.', { type: 'object' }),
      errors: { 401: failure('The credentials are refused.'), 429: failure('Too many attempts.') },
      handler: async ({ request, response, body }) => {
        const caller = await sessions.begin(request, response, body)
        await parts.record(caller, 'sign in', { with: Object.keys(body)[0] })
        return { details: await sessionOf(parts, caller) }
      },
    }),
    defineEnvelopeRoute({
      method: 'delete',
      path: '/console/api/session',
      id: 'consoleSignOut',
      tag: 'console',
      summary: 'Sign out of the console',
      access,
      success: done('The session has ended.'),
      handler: async ({ response, caller }) => {
        await sessions.end(response, caller)
        return { message: 'Signed out' }
      },
    }),
    defineEnvelopeRoute({
      method: 'post',
      path: '/console/api/tokens',
      id: 'consoleToken',
      tag: 'console',
      summary: 'A token of a few minutes of a role or a user',
      access,
      body: dto<TokenRequest>('ConsoleTokenDto'),
      success: success(201, 'The token.', { type: 'object' }),
      errors: { 404: failure('There is no such role or user.') },
      handler: async ({ caller, body }) => {
        const details = await tokenOf(body)
        await parts.record(caller, 'look as', body)
        return { details }
      },
    }),
    defineEnvelopeRoute({
      method: 'post',
      path: '/console/api/changes',
      id: 'consoleChange',
      tag: 'console',
      summary: 'Record a change that the page is about to request of another service',
      access,
      body: dto<ChangeNote>('ConsoleChangeDto'),
      success: { ...done('The change is recorded.'), status: 201 },
      handler: async ({ caller, body }) => {
        await parts.record(caller, 'change', body)
        return { message: 'Recorded' }
      },
    }),
    defineEnvelopeRoute({
      method: 'get',
      path: '/console/api/overview',
      id: 'consoleOverview',
      tag: 'console',
      summary: 'What the first page shows',
      access,
      success: success(200, 'The overview.', { type: 'object' }),
      handler: async () => ({ details: await overviewOf(parts) }),
    }),
  ]
}

async function sessionOf(settings: ConsoleSettings, { actor, token }: ConsoleCaller): Promise<ConsoleSession> {
  const { config } = settings.snapshot()
  return {
    actor,
    token,
    isDevelopment: settings.isDevelopment,
    version: settings.version,
    services: config.services,
    restPath: config.restBasePath,
    analysisPath: config.services.includes('analysis') ? config.imageBasePath : null,
    hasMailbox: settings.hasMailbox,
    roles: await viewerRoles(settings),
    anonymousRole: config.dbAnonRole,
  }
}

/** The program's own tables are not those that a project begins with. */
const ownTables = ['profiles', 'reports', 'classification_runs']

const projectCounts = `
  select count(*)::int as tables,
    coalesce(sum((select count(*) from pg_catalog.pg_policy where polrelid = pg_class.oid)), 0)::int as policies
  from pg_catalog.pg_class join pg_catalog.pg_namespace on pg_namespace.oid = relnamespace
  where relkind in ('r', 'p', 'f') and not relispartition and nspname = any ($1::text[])
    and not (nspname = 'public' and relname = any ($2::text[]))`

async function overviewOf(parts: ConsoleParts): Promise<Overview> {
  const { database, isDevelopment, ownerUri } = parts
  const { config } = parts.snapshot()
  const { developmentKeys, countPolicyTests } = await parts.tools()
  const [counts] = await database.query(projectCounts, [[...config.dbSchemas], ownTables])
  return {
    keys: isDevelopment ? await developmentKeys(config.dataDir) : null,
    database: ownerUri === null ? null : withoutPassword(ownerUri),
    tables: Number(counts?.tables),
    users: hasUsers(config.services) ? await countUsers(parts) : null,
    policies: Number(counts?.policies),
    policyTests: await countPolicyTests(),
  }
}

const hasUsers = (services: readonly string[]): boolean => services.includes('auth') || services.includes('auth-v1')

/** At most 1,000 are counted. */
async function countUsers({ database }: ConsoleSettings): Promise<number> {
  const [row] = await database.transaction(
    authAdmin,
    (query) => query('select count(*)::int as users from (select from auth.users limit 1000) as counted', []),
    'read',
  )
  return Number(row?.users)
}
