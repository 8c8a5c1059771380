// The REST API as an object, on a database that the caller connects to.
import { CatalogWatch } from './catalog-watch.ts'
import type { EngineDatabase } from './database.ts'
import { extensionsOf, partsOf, type Extension } from './extension.ts'
import { RestHandler, type Identify, type RestObservation } from './handler.ts'
import type { ImportEvent } from './extensions/imports/import-progress.ts'
import { ReloadChannel } from './reload-channel.ts'
import { checkedIdentify, settingsOf, type RestOptions } from './rest-options.ts'
import type { Answering, RestRequest } from './rest-request.ts'
import type { RestResponse } from './response/result.ts'
import { createExtensions, type ExtensionOptions } from './extensions/list.ts'
import { readRoleSettings } from './role-settings.ts'
import { SchemaLoader, type LoaderEvent, type SettingsSource } from './schema-loader.ts'
import { noRoleSettings } from './settings.ts'
import type { LoadedSettings, Snapshot } from './snapshot.ts'
import { Traffic } from './traffic.ts'
import type { BodyValidator } from './validation.ts'
import type { EngineEvent, SchemaEvent } from './engine-event.ts'

export type EngineOptions<Loaded extends LoadedSettings> = {
  readonly database: EngineDatabase
  readonly settings: SettingsSource<Loaded>
  readonly identify: Identify
  readonly validator: BodyValidator
  /** Called once for every request, before its response is sent. Must not throw. */
  readonly onRequest: (observation: RestObservation) => void
  /** See `RestHandlerOptions`. */
  readonly secureCookies?: boolean | undefined
  /** Called while an import runs, and at its end. Must not throw. */
  readonly onImport?: (event: ImportEvent) => void
  /** By default all that there are. */
  readonly extensions?: (options: ExtensionOptions) => readonly Extension[]
  /** Must not throw. */
  readonly onEvent: (event: EngineEvent<Loaded>) => void
  /** Receives the reason when requests are counted per process, once. Must not throw. */
  readonly onWarning: (message: string) => void
  /** See `SchemaLoaderOptions`. */
  readonly isUnavailable: (error: unknown) => boolean
  readonly isFinal: (error: Error, settings: Loaded) => boolean
  /** See `LoadedSettings`. */
  readonly encodesRows?: boolean | undefined
}

/** Settings with which Postgres makes the JSON of all results. */
const withoutRows = <Loaded extends LoadedSettings>(given: SettingsSource<Loaded>): SettingsSource<Loaded> => ({
  initial: { ...given.initial, encodesRows: false },
  read: async (onInvalid) => ({ ...(await given.read(onInvalid)), encodesRows: false }),
})

/** The result of `createRest`. The adapters `nodeHandler` and `fetchHandler` turn it into a request handler. */
export type Rest = Answering & {
  /** Reloads the schema cache, as `NOTIFY pgrst` does. Resolves after the attempt; `onSchema` reports the outcome. */
  reload(): Promise<void>
  /** Stops listening and retrying. Does not close the database: close it after the last response has been sent. */
  close(): Promise<void>
}

/** The REST API with settings that may change at run time. Requests get 503 (PGRST002) until the schema is loaded. */
export class Engine<Loaded extends LoadedSettings> implements Rest {
  /** Resolves with the error when loading has failed and retrying is pointless. */
  readonly gaveUp: Promise<Error>
  readonly #traffic = new Traffic()
  readonly #loader: SchemaLoader<Loaded>
  readonly #channel: ReloadChannel
  readonly #catalog: CatalogWatch
  readonly #handler: RestHandler

  constructor({
    database,
    settings,
    identify,
    validator,
    secureCookies,
    onRequest,
    onImport,
    extensions = createExtensions,
    onEvent,
    onWarning,
    isUnavailable,
    isFinal,
    encodesRows = true,
  }: EngineOptions<Loaded>) {
    const observe = (event: LoaderEvent<Loaded>): void => {
      if (event.kind === 'settings read') {
        void this.#channel.follow(event.settings.config)
        this.#catalog.follow(event.settings.config)
      }
      onEvent(event)
    }
    const counting = { query: database.query, onWarning }
    const used = extensionsOf(extensions({ settings: settings.initial.config, counting, onImport }))
    this.#loader = new SchemaLoader({
      database,
      settings: encodesRows ? settings : withoutRows(settings),
      partsOf: partsOf(used),
      traffic: this.#traffic,
      isUnavailable,
      isFinal,
      observe,
    })
    this.#channel = new ReloadChannel(database, this.#loader, onEvent)
    this.#catalog = new CatalogWatch(database, this.#loader, onEvent)
    this.#handler = new RestHandler({
      state: this.#loader,
      identify,
      validator,
      extensions: used,
      secureCookies,
      observe: onRequest,
    })
    this.gaveUp = this.#loader.gaveUp
  }

  /** Starts listening and checking the catalog, and loads the schema cache. If loading fails, retries in the background. */
  async start(): Promise<void> {
    // Listens before loading, so that no schema change is missed.
    await this.#channel.follow(this.#loader.snapshot.config)
    this.#catalog.follow(this.#loader.snapshot.config)
    await this.#loader.reload()
  }

  answer(request: RestRequest): Promise<RestResponse> {
    this.#traffic.count()
    return this.#handler.answer(request)
  }

  /** The current settings and schema cache. */
  get snapshot(): Snapshot<Loaded> {
    return this.#loader.snapshot
  }

  /** Whether there is no schema cache yet, or the last attempt to load it failed. */
  get isPending(): boolean {
    return this.#loader.isPending
  }

  /** Whether the channel is being listened to. */
  get isListening(): boolean {
    return this.#channel.isOn
  }

  reload(): Promise<void> {
    return this.#loader.reload()
  }

  /** Reloads the settings. If a value is invalid, keeps the previous settings. Never rejects. */
  reloadSettings(): Promise<void> {
    return this.#loader.reloadSettings()
  }

  /** Stops loading and retrying. */
  giveUp(error: Error): void {
    this.#loader.giveUp(error)
  }

  async close(): Promise<void> {
    await this.#channel.stop()
    await this.#catalog.stop()
    await this.#loader.stop()
  }
}

/**
 * Creates the REST API and loads the schema cache. While the database is unreachable, requests get 503 (PGRST002), and
 * loading is retried after 1, 2, 4 … 32 seconds. `NOTIFY pgrst` reloads the schema cache; requests use the previous one
 * until the new one is loaded.
 *
 * @throws TypeError as a rejection, naming the invalid option
 */
export async function createRest(options: RestOptions): Promise<Rest> {
  const config = settingsOf(options)
  const {
    database,
    identify,
    validator = noValidator,
    onRequest = ignore,
    onImport = ignore,
    onSchema = reportFailure,
  } = options
  const cursorSecrets = options.cursorSecrets?.map((secret) => Buffer.from(secret)) ?? []
  const reportSchema = reporting('onSchema', onSchema)
  const known = new Set<string>()
  const warn = (message: string): void => {
    if (!known.has(message)) console.error(`rowhouse: ${message}`)
    known.add(message)
  }
  const engine = new Engine({
    database,
    settings: {
      initial: { config, roleSettings: noRoleSettings, cursorSecrets },
      read: async () => {
        const roleSettings = config.dbConfig ? await database.read(readRoleSettings) : noRoleSettings
        roleSettings.warnings.forEach(warn)
        return { config, roleSettings, cursorSecrets }
      },
    },
    identify: checkedIdentify(identify),
    validator,
    secureCookies: options.secureCookies,
    onRequest: reporting('onRequest', onRequest),
    onImport: reporting('onImport', onImport),
    onEvent: (event) => {
      if (isSchemaEvent(event)) reportSchema(event)
    },
    onWarning: warn,
    // The settings are checked already, so every failure is one of the database.
    isUnavailable: () => true,
    isFinal: () => false,
  })
  await engine.start()
  return {
    answer: (request) => engine.answer(request),
    reload: () => engine.reload(),
    close: () => engine.close(),
  }
}

const ignore = (): void => undefined
const noValidator: BodyValidator = { forTable: () => undefined }

/** A callback of the application. Its error goes to the console: it must end neither a request nor loading. */
const reporting =
  <T>(name: string, callback: (value: T) => void) =>
  (value: T): void => {
    try {
      callback(value)
    } catch (error) {
      console.error(`rowhouse: ${name} threw`, error)
    }
  }

const isSchemaEvent = (event: EngineEvent): event is SchemaEvent =>
  event.kind === 'schema cache loaded' || event.kind === 'schema cache failed' || event.kind === 'channel lost'

function reportFailure(event: SchemaEvent): void {
  if (event.kind === 'schema cache loaded') return
  const message = typeof event.error === 'string' ? event.error : event.error.message
  console.error(`rowhouse: ${event.kind}, retrying in ${event.retrySeconds} s: ${message}`)
}
