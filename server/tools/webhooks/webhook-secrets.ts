// The secrets that calls of webhooks are signed with.
import type { RunClientQuery } from '../../catalogue/introspection.ts'
import { WebhookError } from './webhook-sql.ts'

export type WebhookSecret = {
  readonly secret: string
  readonly createdAt: string
  /** Null for one that does not expire. */
  readonly expiresAt: string | null
}

/** What to do before the secrets are read. */
export type SecretChange = { readonly kind: 'create' } | { readonly kind: 'replace'; readonly validFor: string }

/**
 * Creates or replaces a secret, and returns those that are valid, the newest first.
 *
 * @param name of the secret
 * @throws WebhookError for an unknown name to replace
 */
export async function changeSecret(
  query: RunClientQuery,
  name: string,
  change: SecretChange,
): Promise<readonly WebhookSecret[]> {
  if (!/^[A-Za-z0-9_.-]{1,100}$/.test(name)) {
    throw new WebhookError(
      `The name ${JSON.stringify(name)} is not possible: use letters, digits, hyphens, dots and underscores.`,
    )
  }
  if (change.kind === 'create') await query('select rowhouse.create_webhook_secret($1)', [name])
  else if ((await validSecrets(query, name)).length === 0) throw new WebhookError(`There is no secret named ${name}.`)
  else await query('select rowhouse.replace_webhook_secret($1, $2::interval)', [name, change.validFor])
  return validSecrets(query, name)
}

async function validSecrets(query: RunClientQuery, name: string): Promise<readonly WebhookSecret[]> {
  const { rows } = await query(
    `select secret, to_json(created_at) #>> '{}' as "createdAt", to_json(expires_at) #>> '{}' as "expiresAt"
     from rowhouse.webhook_secrets where name = $1 and (expires_at is null or expires_at > clock_timestamp()) order by id desc`,
    [name],
  )
  return rows as unknown as readonly WebhookSecret[]
}
