// A process of the server that sends outgoing calls, with the port of its metrics.
import type { Test } from 'tap'
import { freePort } from './free-port.ts'
import { says, startProgram, type Program } from './program.ts'

export type SendingProcess = {
  readonly program: Program
  /** Whether it has the lease of calls. */
  readonly isSending: () => Promise<boolean>
}

/** Starts a process that serves. @param uri of the database, as the server connects */
export async function startSendingProcess(t: Pick<Test, 'teardown'>, uri: string): Promise<SendingProcess> {
  const admin = await freePort()
  const program = startProgram(t, {
    DATABASE_URL: uri,
    PGRST_ADMIN_SERVER_PORT: String(admin),
    PGRST_LOG_LEVEL: 'info',
    SERVICES: 'rest,webhooks',
    WEBHOOKS_ALLOWED_HOSTS: '127.0.0.1',
    WEBHOOKS_MAX_PAUSE: '1',
    WEBHOOKS_MAX_ATTEMPTS: '1000',
    WEBHOOKS_HOST_CONCURRENCY: '40',
  })
  await program.line(says('listening'))
  return {
    program,
    isSending: async () => {
      const metrics = await fetch(`http://127.0.0.1:${admin}/metrics`).then((response) => response.text())
      return /^webhooks_sender 1$/m.test(metrics)
    },
  }
}
