// `explain_request`: which privileges and policies decide the result of a request.
import { explanationType } from '../../../rest/media-type.ts'
import { askEngine, TooLarge } from '../ask-engine.ts'
import { bodyText, type BodyArgument } from '../body-argument.ts'
import { ownerRole } from '../mcp-callers.ts'
import type { McpConfig } from '../mcp-parts.ts'
import { targetOf } from '../target.ts'
import { defineTool, type ToolContext } from '../tool.ts'
import { ToolRefusal } from '../tool-refusal.ts'
import { viewerIdentity } from '../../console/viewer.ts'

type Given = {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly schema?: string
  readonly body?: BodyArgument
  readonly role?: string
  readonly user?: string
}

/** Whether a caller may see policies, and why they hide rows. */
export const mayExplain = (role: string, { explainRoles }: Pick<McpConfig, 'explainRoles'>): boolean =>
  role === ownerRole || explainRoles.includes(role)

export const explainTool = defineTool<Given>({
  name: 'explain_request',
  title: 'Explain a request',
  description:
    'Says why a request returns these rows, or none: the privileges and policies that decide, what hides or denies a row, the SQL and its plan. The request runs and is rolled back. With the secret key, `role` or `user` says for whom: {"path": "/tasks?id=eq.1", "role": "anon"}.',
  schema: 'urn:rowhouse:McpExplainArguments',
  effect: 'reads',
  refusal: ({ role, config }) =>
    mayExplain(role, config)
      ? undefined
      : 'only the secret key, and the roles in EXPLAIN_ROLES, may have requests explained',
  run: async (given, context) => {
    const data =
      context.caller.identity.role === ownerRole
        ? await explainAsOwner(given, context)
        : await explainAsCaller(given, context)
    if (Buffer.byteLength(data) > context.parts.snapshot().config.mcpMaxBytes) {
      throw new TooLarge(context.parts.snapshot().config.mcpMaxBytes)
    }
    return { heading: 'The explanation. The request was rolled back.', data }
  },
})

/** What the caller may know: the engine decides. */
async function explainAsCaller(
  { method = 'GET', path, schema, body, role, user }: Given,
  context: ToolContext,
): Promise<string> {
  if (role !== undefined || user !== undefined) {
    throw new ToolRefusal('role, user: only the secret key may have the requests of others explained')
  }
  const { resource, query } = targetOf(path, context.parts.snapshot().config.restBasePath)
  const answer = await askEngine(
    context.parts.engine,
    {
      method,
      target: `/${resource}${query === '' ? '' : `?${query}`}`,
      headers: [['accept', explanationType], ...headersOf(method, schema, body)],
      body: body === undefined ? undefined : Buffer.from(bodyText(body)),
    },
    context,
  )
  return answer.text
}

/** All of it, for any caller: the secret key bypasses all policies anyway. */
async function explainAsOwner(
  { method = 'GET', path, schema, body, role, user }: Given,
  { caller, parts, signal }: ToolContext,
): Promise<string> {
  if (role !== undefined && user !== undefined) throw new ToolRefusal('role, user: give one of them')
  const { resource, query } = targetOf(path, parts.snapshot().config.restBasePath)
  const { restBasePath } = parts.snapshot().config
  const viewer = role === undefined ? (user === undefined ? undefined : { user }) : { role }
  const identity = viewer ? await viewerIdentity(parts, viewer) : caller.identity
  const { explain } = await parts.consoleTools()
  const explanation = await explain(
    {
      request: `${method} ${restBasePath === '/' ? '' : restBasePath}/${resource}${query === '' ? '' : `?${query}`}`,
      headers: headersOf(method, schema, body).map(([name, value]) => `${name}: ${value}`),
      ...(body === undefined ? {} : { body: bodyText(body) }),
      caller: viewer ?? { role: caller.identity.role },
    },
    identity,
    signal,
  )
  return JSON.stringify(explanation)
}

const headersOf = (
  method: string,
  schema: string | undefined,
  body: BodyArgument | undefined,
): readonly (readonly [string, string])[] => [
  ...(schema === undefined ? [] : ([[method === 'GET' ? 'accept-profile' : 'content-profile', schema]] as const)),
  ...(body === undefined ? [] : ([['content-type', 'application/json']] as const)),
]
