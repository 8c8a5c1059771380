// What the console does during development only: it writes files of the project, and runs its policy tests.
import { Failure } from '../../http/envelope.ts'
import type { ConsoleSettings } from './console-settings.ts'

/** @throws Failure 403 outside of the development mode */
export function requireDevelopment({ isDevelopment }: Pick<ConsoleSettings, 'isDevelopment'>): void {
  if (!isDevelopment)
    throw new Failure(403, 'This is possible during development only: on the embedded database of a project')
}
