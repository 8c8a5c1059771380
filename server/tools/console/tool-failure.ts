// Errors of the tools as failures, whose messages people see.
import { ProjectError } from '../../config/project.ts'
import { Failure } from '../../http/envelope.ts'
import { sqlState } from '../../postgres/database-error.ts'
import { CommandError } from '../command-line/command-error.ts'
import { MigrationError } from '../migrations/migration-error.ts'
import { WebhookError } from '../webhooks/webhook-sql.ts'
import { TestFileError } from '../policy-tests/test-file.ts'

/** Whether the message of an error says what is wrong with what people gave, or with their database. */
export const isForPeople = (error: unknown): error is Error =>
  error instanceof CommandError ||
  error instanceof ProjectError ||
  error instanceof TestFileError ||
  error instanceof MigrationError ||
  error instanceof WebhookError ||
  (error instanceof Error && sqlState(error) !== undefined)

/** @throws Failure 422 with the message of an error for people; any other error as it is */
export async function forPeople<T>(use: () => Promise<T>): Promise<T> {
  try {
    return await use()
  } catch (error) {
    throw isForPeople(error) ? new Failure(422, error.message, { cause: error }) : error
  }
}
