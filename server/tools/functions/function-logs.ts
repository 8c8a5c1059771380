// What a function of the running server has logged.
import type { FunctionLogs } from '../../services/console/function-protocol.ts'
import { CommandError } from '../command-line/command-error.ts'
import { messageOf } from '../command-line/error-message.ts'
import { withConsoleSession } from '../console/console-session.ts'

/**
 * The latest lines of a function, of all processes of the server.
 *
 * @param query runs statements as the owner of the schemas
 * @param address of the server, without a slash at the end
 * @throws CommandError when the server cannot be reached, is another one's, or does not open its console
 */
export async function readFunctionLogs(
  query: (text: string, values?: unknown[]) => Promise<{ readonly rows: readonly Record<string, unknown>[] }>,
  address: string,
  name: string,
): Promise<FunctionLogs> {
  const { rows } = await query("select to_regclass('rowhouse.console_sessions') is not null as migrated")
  if (rows[0]?.migrated !== true) {
    throw new CommandError(
      'The server keeps logs for its console, which this database has no tables for: add console to SERVICES, and run rowhouse migrate.',
    )
  }
  return withConsoleSession(query, 'rowhouse functions logs', async (headers) => {
    const url = `${address}/console/api/functions/${encodeURIComponent(name)}/logs`
    const response = await fetch(url, { headers, redirect: 'error' }).catch((error: unknown) => {
      throw new CommandError(`${address} cannot be reached: ${messageOf(error)}. Does \`rowhouse serve\` run?`)
    })
    const body = (await response.json().catch(() => undefined)) as Answer | undefined
    if (response.ok && body?.details) return body.details
    throw new CommandError(refusalOf(response.status, body, address))
  })
}

type Answer = { readonly message?: string; readonly details?: FunctionLogs }

function refusalOf(status: number, body: Answer | undefined, address: string): string {
  if (status === 401) return `${address} has another database than this command: it does not know its session.`
  const reason = body?.message === undefined ? '' : `: ${body.message}`
  return `${address} does not show logs (${status}${reason}). Its console has them: it takes console and functions in SERVICES, and the setting CONSOLE.`
}
