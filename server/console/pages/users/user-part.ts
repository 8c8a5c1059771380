// What each part of the page of an account gets.
import type { UserDetails } from '../../../services/console/protocol.ts'
import type { Action } from '../../forms.tsx'
import type { Passkey, User } from './users.ts'

export type AccountProps = {
  readonly user: User
  readonly passkeys: readonly Passkey[]
  readonly details: UserDetails
  readonly onChanged: () => void
}

export type PartProps = AccountProps & {
  readonly action: Action
  /** Runs an action and loads the account again. */
  readonly change: (act: () => Promise<unknown>) => void
}
