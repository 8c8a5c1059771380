// What the engine reports about its schema cache and its settings.
import type { CatalogWatchEvent } from './catalog-watch.ts'
import type { ReloadChannelEvent } from './reload-channel.ts'
import type { LoaderEvent } from './schema-loader.ts'
import type { LoadedSettings } from './snapshot.ts'

export type EngineEvent<Loaded extends LoadedSettings = LoadedSettings> =
  LoaderEvent<Loaded> | ReloadChannelEvent | CatalogWatchEvent

export type SchemaEvent = Extract<
  EngineEvent,
  { readonly kind: 'schema cache loaded' | 'schema cache failed' | 'channel lost' }
>
