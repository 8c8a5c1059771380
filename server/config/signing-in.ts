// Whether a server has the sign-in service.
import type { ServiceName } from './config.ts'

/** Whether the server has `/auth/v1`, with or without the sign-in with cookies. */
export const signsIn = (services: readonly ServiceName[]): boolean =>
  services.includes('auth') || services.includes('auth-v1')
