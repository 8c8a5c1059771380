// `/console/api/operations`: what operates the server: migrations, settings, the doctor, backups, replicas and API keys.
import type { IncomingMessage } from 'node:http'
import { Failure } from '../../http/envelope.ts'
import { defineEnvelopeRoute, type Access } from '../../http/envelope-dialect.ts'
import { uuidParameter } from '../../http/path-id.ts'
import type { Route } from '../../http/route.ts'
import { done, dto, failure, success, type SuccessResponse } from '../../http/service-response.ts'
import { allowedLimit, keyLimitNames } from '../../identity/limits.ts'
import type { ConsoleCaller, ConsoleParts } from './console-settings.ts'
import type { CreatedKey, KeyReport, LogEntry, NewKey, NewKeyLimits } from './operation-protocol.ts'

const list = (description: string): SuccessResponse => success(200, description, { type: 'array' })
const report = (description: string): SuccessResponse => success(200, description, { type: 'object' })
const refused = failure('It is not possible. The message says why.')

export function operationRoutes(parts: ConsoleParts, access: Access<ConsoleCaller>): readonly Route[] {
  const { tools, replicas } = parts
  const shared = { tag: 'console', access, errors: { 422: refused } } as const
  return [
    defineEnvelopeRoute({
      ...shared,
      method: 'get',
      path: '/console/api/operations/migrations',
      id: 'consoleMigrations',
      summary: 'Migrations of the server and of the project',
      success: report('The migrations.'),
      handler: async () => ({ details: await (await tools()).operations.migrations() }),
    }),
    defineEnvelopeRoute({
      ...shared,
      method: 'get',
      path: '/console/api/operations/settings',
      id: 'consoleSettings',
      summary: 'All settings with their origin, without secrets',
      success: list('The settings.'),
      handler: async () => ({ details: await (await tools()).operations.settings() }),
    }),
    defineEnvelopeRoute({
      ...shared,
      method: 'post',
      path: '/console/api/operations/doctor',
      id: 'consoleDoctor',
      summary: 'What `rowhouse doctor` finds',
      success: report('The findings.'),
      handler: async ({ request }) => ({ details: await (await tools()).operations.doctor(ownAddress(request)) }),
    }),
    defineEnvelopeRoute({
      ...shared,
      method: 'get',
      path: '/console/api/operations/backups',
      id: 'consoleBackups',
      summary: 'Backups of the embedded database',
      success: report('The backups.'),
      handler: async () => ({ details: await (await tools()).operations.backups() }),
    }),
    defineEnvelopeRoute({
      ...shared,
      method: 'get',
      path: '/console/api/operations/replicas',
      id: 'consoleReplicas',
      summary: 'Replicas and their lag',
      success: list('The replicas.'),
      handler: () => ({ details: replicas() }),
    }),
    defineEnvelopeRoute({
      ...shared,
      method: 'get',
      path: '/console/api/operations/log',
      id: 'consoleLog',
      summary: 'The latest changes that were made in the console',
      success: list('The changes.'),
      handler: async () => ({ details: await readLog(parts) }),
    }),
    ...keyRoutes(parts, access),
  ]
}

function keyRoutes(parts: ConsoleParts, access: Access<ConsoleCaller>): readonly Route[] {
  const { tools, record } = parts
  const shared = { tag: 'console', access } as const
  const pathParameters = { id: uuidParameter('Id of the key.') }
  const errors = { 404: failure('There is no such key.'), 422: refused }
  return [
    defineEnvelopeRoute({
      ...shared,
      method: 'get',
      path: '/console/api/operations/keys',
      id: 'consoleKeys',
      summary: 'API keys without their secrets, and limits of requests',
      success: report('The keys.'),
      errors: { 422: refused },
      handler: async () => ({ details: await keyReport(parts) }),
    }),
    defineEnvelopeRoute({
      ...shared,
      method: 'post',
      path: '/console/api/operations/keys',
      id: 'consoleCreateKey',
      summary: 'Create an API key',
      body: dto<NewKey>('ConsoleKeyDto'),
      success: success(201, 'The key, which is not shown again.', { type: 'object' }),
      errors: { 422: refused },
      handler: async ({ caller, body }) => {
        const { key, ...state } = await (await tools()).operations.createKey(body)
        await record(caller, 'create key', { id: state.id, role: state.role, user: state.userId, label: state.label })
        return { details: { key, state } satisfies CreatedKey }
      },
    }),
    defineEnvelopeRoute({
      ...shared,
      method: 'put',
      path: '/console/api/operations/keys/{id}/limits',
      id: 'consoleLimitKey',
      summary: 'Replace the limits of an API key',
      pathParameters,
      body: dto<NewKeyLimits>('ConsoleKeyLimitsDto'),
      success: done('The key has the limits.'),
      errors,
      handler: async ({ caller, path: { id }, body: { limits } }) => {
        if (!(await (await tools()).operations.limitKey(id, limits))) throw new Failure(404, `There is no key ${id}`)
        await record(caller, 'limit key', { id, limits })
        return { message: 'The limits are in effect' }
      },
    }),
    defineEnvelopeRoute({
      ...shared,
      method: 'delete',
      path: '/console/api/operations/keys/{id}',
      id: 'consoleRevokeKey',
      summary: 'Revoke an API key for good',
      pathParameters,
      success: done('The key is revoked.'),
      errors,
      handler: async ({ caller, path: { id } }) => {
        if (!(await (await tools()).operations.revokeKey(id))) throw new Failure(404, `There is no active key ${id}`)
        await record(caller, 'revoke key', { id })
        return { message: 'The key is revoked' }
      },
    }),
  ]
}

/** The address of this server for clients on the same machine; undefined where it listens elsewhere. */
function ownAddress({ socket }: IncomingMessage): URL | undefined {
  const { localAddress = '', localPort, localFamily } = socket
  const isLoopback = /^(?:::ffff:)?127\.|^::1$/.test(localAddress)
  if (!isLoopback || localPort === undefined) return undefined
  return new URL(`http://${localFamily === 'IPv6' ? `[${localAddress}]` : localAddress}:${localPort}`)
}

async function keyReport({ tools, snapshot }: ConsoleParts): Promise<KeyReport> {
  const keys = await (await tools()).operations.listKeys()
  return {
    keys,
    limits: keyLimitNames.map((name) => ({ name, allowed: allowedLimit(name) })),
    roles: Array.from(snapshot().loaded.roleSettings.limits, ([role, limits]) => ({
      role,
      limits: Object.entries(limits).map(([name, value]): [string, string] => [name, limitText(value)]),
    })),
  }
}

const limitText = (value: unknown): string => (value === null ? 'none' : JSON.stringify(value))

const mostEntries = 200

async function readLog({ database }: ConsoleParts): Promise<readonly LogEntry[]> {
  const rows = await database.query(
    `select id::text, to_json(at) #>> '{}' as at, actor, action, details
     from rowhouse.console_log order by console_log.id desc limit $1`,
    [mostEntries],
  )
  return rows.map(({ id, at, actor, action, details }) => ({
    id: String(id),
    at: String(at),
    actor: String(actor),
    action: String(action),
    details,
  }))
}
