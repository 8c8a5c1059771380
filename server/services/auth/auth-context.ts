// What the handlers of `/auth/v1` need.
import type { AuthResources } from './auth-resources.ts'
import type { CodeFlows } from './mail/code-flows.ts'

export type AuthContext = AuthResources & {
  /** Codes and links by mail and phone. */
  readonly codeFlows: CodeFlows
}
