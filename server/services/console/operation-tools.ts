// What the pages of operations, requests and webhooks need of the command line. Their errors are failures whose message is for people.
import type {
  BackupReport,
  DoctorReport,
  KeyLimits,
  KeyState,
  MigrationReport,
  NewKey,
  SettingState,
} from './operation-protocol.ts'
import type { SlowStatement } from './request-protocol.ts'
import type { NewWebhook, WebhookMigration } from './webhook-protocol.ts'

export type OperationTools = {
  readonly migrations: () => Promise<MigrationReport>
  readonly settings: () => Promise<readonly SettingState[]>
  /** @param url address of this server; undefined: it is not looked at from outside */
  readonly doctor: (url: URL | undefined) => Promise<DoctorReport>
  readonly backups: () => Promise<BackupReport>
  readonly listKeys: () => Promise<readonly KeyState[]>
  readonly createKey: (wanted: NewKey) => Promise<KeyState & { readonly key: string }>
  /** @returns false for an unknown or already revoked key */
  readonly revokeKey: (id: string) => Promise<boolean>
  /** @returns false for an unknown key */
  readonly limitKey: (id: string, limits: KeyLimits) => Promise<boolean>
  /** The statements that have taken the most time; null without pg_stat_statements. */
  readonly slowStatements: () => Promise<readonly SlowStatement[] | null>
  /** What `rowhouse webhook add` prints. */
  readonly webhookMigration: (wanted: NewWebhook) => Promise<WebhookMigration>
}
