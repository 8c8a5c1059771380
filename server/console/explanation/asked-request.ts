// What is explained: a request, and its caller.
import type { ExplainRequest } from '../../services/console/policy-protocol.ts'
import type { Viewer } from '../api.ts'

/** A request to explain. */
export type AskedRequest = Pick<ExplainRequest, 'request' | 'headers' | 'body'>

/** The viewer as the routes of the console name it. */
export const callerOf = (viewer: Viewer): ExplainRequest['caller'] =>
  viewer.kind === 'role' ? { role: viewer.role } : { user: viewer.id }
