// Routes of services that the server may lack.
import { Failure } from '../../http/envelope.ts'
import { failure } from '../../http/service-response.ts'
import type { ConsoleSettings } from './console-settings.ts'

/** The error of `requireService`. */
export const missingService = failure('The server does not have the service, or there is no such thing.')

/** @throws Failure 404 if the server does not have the service */
export function requireService({ snapshot }: Pick<ConsoleSettings, 'snapshot'>, service: string): void {
  if (!snapshot().config.services.includes(service)) {
    throw new Failure(404, `The server does not have the service ${service}: the setting SERVICES does not name it`)
  }
}
