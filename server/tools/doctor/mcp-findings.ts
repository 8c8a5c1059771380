// Tools for agents that may write, or whose clients cannot find out how to sign in.
import type { Config } from '../../config/config.ts'
import { listensOnLoopback } from '../../config/loopback.ts'
import { signsIn } from '../../config/signing-in.ts'
import type { DoctorFinding } from './finding.ts'

type ServedConfig = Pick<
  Config,
  'services' | 'mcpMode' | 'apiExternalUrl' | 'authOAuthServerEnabled' | 'serverHost' | 'serverUnixSocket'
>

export function mcpFindings(config: ServedConfig): DoctorFinding[] {
  if (!config.services.includes('mcp')) return []
  return [
    ...(config.mcpMode === 'read-write' ? [writes] : []),
    ...(signsIn(config.services) && config.authOAuthServerEnabled ? addressFindings(config) : []),
  ]
}

const addressFindings = (config: ServedConfig): DoctorFinding[] =>
  config.apiExternalUrl === null && !listensOnLoopback(config) ? [lacksUrl] : []

const writes: DoctorFinding = {
  area: 'mcp',
  code: 'mcp_read_write',
  level: 'INFO',
  subject: 'MCP_MODE',
  what: 'Agents may write, with the rights of their keys and tokens.',
  why: 'A text in a row can talk an agent into a write that its caller may make. Clients ask their user before confirm_write, unless they were set not to.',
  advice: 'Check that it is needed, and give agents keys of roles that may write little.',
}

const lacksUrl: DoctorFinding = {
  area: 'mcp',
  code: 'mcp_without_url',
  level: 'WARN',
  subject: 'API_EXTERNAL_URL',
  what: 'It is not set, and the server is reachable from other machines.',
  why: 'Clients of /mcp elsewhere are sent to http://localhost to sign in. With a key or token in their settings, they work.',
  advice: 'Set API_EXTERNAL_URL to the public address of /auth/v1, such as https://api.example.org/auth/v1.',
}
