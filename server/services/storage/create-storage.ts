// Puts the parts of `/storage/v1` together.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { crossOriginGuard } from '../../http/cross-origin.ts'
import { createRouter } from '../../http/router.ts'
import type { ApiKeyLookup } from '../../identity/api-key/api-key-lookup.ts'
import type { JwtVerifier } from '../../identity/jwt/jwt.ts'
import type { KeySource } from '../../identity/jwt/key-set.ts'
import type { Database } from '../../postgres/database.ts'
import type { DtoValidator } from '../../validation/validator.ts'
import { createStorageCallers } from './callers.ts'
import { readStorageBody, storageCrossOrigin, storageDialect, storagePath } from './dialect.ts'
import { ObjectNames } from './object-names.ts'
import type { ObjectStore } from './object-store.ts'
import type { StorageSettings } from './settings.ts'
import { ImageRenderer } from './render/image-renderer.ts'
import { startExpiring } from './resumable/expiry.ts'
import { createSignedTokens } from './signed-tokens.ts'
import type { StorageContext } from './storage-context.ts'
import { SmallObjects } from './small-objects.ts'
import { storageDatabase } from './storage-database.ts'
import { startSweeping } from './sweep.ts'

export type StorageOptions = {
  /** Read at each request, because the settings can be reloaded. */
  readonly settings: () => StorageSettings & KeySource
  readonly database: Pick<Database, 'askRows' | 'runWith' | 'sinceRequest'>
  readonly store: ObjectStore
  readonly verifier: () => JwtVerifier
  readonly lookupApiKey: ApiKeyLookup
  /** See `Snapshot`. */
  readonly checksSessions: () => boolean
  readonly validator: { readonly forDto: (id: string) => DtoValidator }
  readonly allowedOrigins: () => readonly string[]
  readonly onError: (error: unknown) => void
  readonly warn: (message: string) => void
}

export type StorageService = {
  /** Responds to requests to targets below `/storage/v1`. */
  readonly handler: (request: IncomingMessage, response: ServerResponse) => void
  readonly context: StorageContext
  readonly stop: () => Promise<void>
}

export function createStorage(options: StorageOptions): StorageService {
  const { settings, store, onError, warn, validator, allowedOrigins } = options
  const database = storageDatabase(options.database, options.checksSessions)
  const context: StorageContext = {
    settings,
    database,
    names: new ObjectNames(database, settings),
    callers: createStorageCallers(options.verifier, options.lookupApiKey),
    signedTokens: createSignedTokens(settings),
    store,
    smallObjects: new SmallObjects(store, () => settings().storageMemoryCache),
    images: new ImageRenderer(warn),
    onError,
    warn,
  }
  const router = createRouter({
    dialect: storageDialect,
    basePath: storagePath,
    routes: async () => (await import('./storage-table.ts')).storageRoutes,
    guards: [crossOriginGuard(allowedOrigins, storageCrossOrigin)],
    tools: { context, validator, readBody: readStorageBody },
  })
  const stopSweeping = startSweeping(context)
  const stopExpiring = startExpiring(context)
  return {
    handler: (request, response) => router(request, response, (request.url ?? '').slice(storagePath.length)),
    context,
    stop: async () => {
      // A sweep may take long, and can be interrupted at any point.
      void stopSweeping()
      await stopExpiring()
      context.images.stop()
      await store.close()
    },
  }
}
