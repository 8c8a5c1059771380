// What the routes of `/storage/v1` share.
import type { KeySource } from '../../identity/jwt/key-set.ts'
import type { StorageCallers } from './callers.ts'
import type { ObjectNames } from './object-names.ts'
import type { ObjectStore } from './object-store.ts'
import type { ImageRenderer } from './render/image-renderer.ts'
import type { StorageSettings } from './settings.ts'
import type { SignedTokens } from './signed-tokens.ts'
import type { SmallObjects } from './small-objects.ts'
import type { StorageDatabase } from './storage-database.ts'

export type StorageContext = {
  /** Read at each request, because the settings can be reloaded. */
  readonly settings: () => StorageSettings & KeySource
  readonly database: StorageDatabase
  readonly callers: StorageCallers
  readonly signedTokens: SignedTokens
  readonly store: ObjectStore
  readonly images: ImageRenderer
  readonly names: ObjectNames
  readonly smallObjects: SmallObjects
  /** Receives errors that are not the client's. */
  readonly onError: (error: unknown) => void
  readonly warn: (message: string) => void
}
