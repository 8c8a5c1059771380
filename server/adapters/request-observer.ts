// Connects a request of Node's HTTP server with what observes its statements, before the request is passed on.
import type { IncomingMessage } from 'node:http'
import type { StatementObserver } from '../rest/database.ts'

const key = Symbol('observer of the statements of a request')
type ObservedMessage = IncomingMessage & { [key]?: StatementObserver }

export function setObserver(request: IncomingMessage, observer: StatementObserver): void {
  const observed: ObservedMessage = request
  observed[key] = observer
}

/** Undefined when nothing observes the request. */
export const observerOf = (request: IncomingMessage): StatementObserver | undefined => (request as ObservedMessage)[key]
