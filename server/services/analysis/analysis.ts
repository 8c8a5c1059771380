// Creates the image analysis service from the settings.
import type { ObserveSocket } from '../../common/socket-observer.ts'
import type { Database } from '../../postgres/database.ts'
import type { Router } from '../../http/router.ts'
import type { UpgradeHandler } from '../../http/upgrade.ts'
import { BodyBudget } from '../../rest/request/body-budget.ts'
import type { TableBodies } from '../../rest/validation.ts'
import { Analyser, type AnalyserObserver } from './analyser.ts'
import { analysisRouter, type Documentation } from './dialect.ts'
import type { CallerSettings } from './caller.ts'
import { pathBelow } from './description.ts'
import type { ImageKeeper } from './image-keeper.ts'
import { liveDetection } from './live-detection.ts'
import { Predictor } from './predictor.ts'
import { problems } from './problem.ts'
import { imageLimit } from './request-limit.ts'
import type { AnalysisSettings } from './settings.ts'
import { runStore } from './stored-run.ts'

export type AnalysisOptions = {
  readonly config: AnalysisSettings & {
    /** See `clientNetwork`. */
    readonly trustedProxies: number
  }
  readonly caller: Omit<CallerSettings, 'anonymous' | 'trustedProxies'>
  readonly database: Pick<Database, 'transaction'>
  /** Keeps images; undefined without the storage service. */
  readonly keeper: ImageKeeper | undefined
  /** Of the table of runs. */
  readonly runValidator: TableBodies | undefined
  readonly documentation: Documentation
  readonly observer: AnalyserObserver
  /** Undefined: nothing is recorded of WebSockets. */
  readonly observeSocket?: ObserveSocket | undefined
  readonly onError: (error: unknown) => void
}

export type AnalysisService = {
  readonly router: Router
  readonly upgrade: UpgradeHandler
  /** Why images cannot be analysed; undefined if they can. For anyone to read. */
  readonly unusable: () => Promise<string | undefined>
  /** Number of waiting images. */
  readonly queueLength: () => number
  /** Closes the WebSockets. Running analyses continue. */
  readonly closeSockets: () => void
  /** Ends the analyser's process. */
  readonly stop: () => void
}

/** Milliseconds that callers wait for models to load, at least: a busy machine needs some seconds. */
const leastPatience = 12_000

/** Creates the service. Its process starts on first use, or immediately if models have to be loaded. */
export function createAnalysis(options: AnalysisOptions): AnalysisService {
  const { config, documentation, observer, onError } = options
  const { imageBasePath: prefix, imageClassifier: classifier, imageDetector: detector } = config
  const limits = {
    fileLimit: config.imageFileLimit,
    bodyLimit: config.imageBodyLimit,
    batchLimit: config.imageBatchLimit,
  }
  const timeout = config.imageTimeout * 1000
  const analyser = new Analyser(
    {
      classifier,
      detector,
      pixelLimit: config.imagePixelLimit * 1_000_000,
      threads: config.imageThreads,
      queueLimit: config.imageQueueLimit,
      timeout,
    },
    observer,
  )
  const predictor = new Predictor({
    analyser,
    classifier,
    detector,
    requireModel: config.imageRequireModel,
    fileLimit: limits.fileLimit,
    patience: Math.max(timeout / 2, leastPatience),
  })
  if (predictor.hasModels) void analyser.start()
  const shared = {
    caller: { ...options.caller, anonymous: config.imageAnonymous, trustedProxies: config.trustedProxies },
    countImages: imageLimit({
      imagesPerMinute: config.imageRateLimit,
      query: options.caller.query,
      onWarning: observer.warned,
    }),
    predictor,
    budget: new BodyBudget({ limit: config.imageBodyBudget, maxWait: timeout / 2, exhausted: problems.busy }),
    onError,
  }
  const router = analysisRouter({
    ...shared,
    prefix,
    analyser,
    classifier,
    detector,
    uploads: limits,
    storeRuns: runStore(options.database, options.runValidator, options.keeper),
    keeper: options.keeper,
    documentation,
  })
  const live = liveDetection({
    ...shared,
    path: pathBelow(prefix, '/ws/live-detect'),
    fileLimit: limits.fileLimit,
    socketLimit: config.imageSocketLimit,
    observe: options.observeSocket,
  })
  return {
    router,
    upgrade: live.upgrade,
    unusable: async () => (await predictor.unusable())?.message,
    queueLength: () => analyser.queueLength,
    closeSockets: live.stop,
    stop: () => {
      live.stop()
      analyser.stop()
    },
  }
}
