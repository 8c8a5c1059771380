// User objects of users that are not in the database.
import { jsonObject, jsonTexts } from '../../text/json-members.ts'

export type DraftUser = {
  readonly id: string
  readonly audience: string
  readonly role?: string
  readonly email?: string
  readonly phone?: string
  /** `email`, `phone` or the name of a provider; null for an anonymous user. */
  readonly provider: string | null
  /** JSON text. */
  readonly metadata: string
  /** `created_at` and the like. */
  readonly times?: Readonly<Record<string, string>>
}

/** The user object as JSON text: for a hook before the user is created, or as if the user had been created. */
export const draftUser = ({
  id,
  audience,
  role = '',
  email = '',
  phone = '',
  provider,
  metadata,
  times = {},
}: DraftUser): string =>
  jsonObject({
    ...jsonTexts({
      id,
      aud: audience,
      role,
      email,
      phone,
      app_metadata: provider === null ? {} : { provider, providers: [provider] },
      identities: [],
      is_anonymous: provider === null,
      ...times,
    }),
    user_metadata: metadata,
  })
