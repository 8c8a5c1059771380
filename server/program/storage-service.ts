// The storage service at `/storage/v1`.
import { join, resolve } from 'node:path'
import type { Config } from '../config/config.ts'
import { FileStore } from '../services/storage/backends/file-store.ts'
import { createStorage, type StorageOptions, type StorageService } from '../services/storage/create-storage.ts'

export type ProgramStorageOptions = Omit<StorageOptions, 'store' | 'settings'> & {
  /** The settings at the start. */
  readonly config: Config
  /** Whether the embedded database is used. */
  readonly isEmbedded: boolean
  readonly current: () => Config
}

/** The folder of the objects could not be used. The message says why and what to do. */
export class StorageFolderError extends Error {
  constructor(folder: string, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause)
    super(
      `The folder of the storage service ${folder} cannot be used (${why}). Set STORAGE_FILE_BACKEND_PATH to another folder, or leave the service out: SERVICES=rest,auth.`,
      { cause },
    )
    this.name = 'StorageFolderError'
  }
}

/** @throws StorageFolderError */
export async function startStorage({
  config,
  isEmbedded,
  current,
  ...options
}: ProgramStorageOptions): Promise<StorageService> {
  const { storageFileBackendPath, dataDir } = config
  const folder = resolve(storageFileBackendPath ?? join(dataDir, 'storage'))
  const store = new FileStore(folder)
  // With a database of its own and no folder, a server may have no use for storage: the first upload creates the folder.
  if (isEmbedded || storageFileBackendPath !== null) {
    await store.prepare().catch((error: unknown) => {
      throw new StorageFolderError(folder, error)
    })
  }
  return createStorage({ ...options, settings: current, store })
}
