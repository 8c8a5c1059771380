// The handlers of the routes that receive images.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { isUnreachable } from '../../postgres/database-error.ts'
import { noteRole } from '../../http/request-log.ts'
import type { BodyBudget } from '../../rest/request/body-budget.ts'
import type { Analyser } from './analyser.ts'
import type { Analysis } from './analyser/message.ts'
import { callerOf, type Caller, type CallerSettings } from './caller.ts'
import { pathBelow } from './description.ts'
import type { ImageKeeper, KeptImage } from './image-keeper.ts'
import { olderPredictionOf, predictionOf, type PredictionResponse } from './prediction.ts'
import type { Predictor } from './predictor.ts'
import { internalError, Problem, problemOf, problems, sendJson } from './problem.ts'
import { ClientGone } from './receive.ts'
import type { CountImages } from './request-limit.ts'
import { queryOf, storeOptions, type StoreOptions } from './store-options.ts'
import { contentUri, type RunToStore, type StoreRuns } from './stored-run.ts'
import { readUpload, type HeldUpload } from './upload.ts'
import type { UploadLimits, UploadedImage } from './uploaded-images.ts'

export type PredictSettings = {
  /** Mount path: `/api/v1/water-hyacinth`, or `/`. */
  readonly prefix: string
  readonly caller: CallerSettings
  readonly countImages: CountImages
  readonly analyser: Analyser
  readonly predictor: Predictor
  readonly uploads: UploadLimits
  /** Memory for uploads. */
  readonly budget: BodyBudget
  readonly storeRuns: StoreRuns
  /** Undefined: the server has no storage service. */
  readonly keeper: ImageKeeper | undefined
  /** Called with unexpected errors, for the log. */
  readonly onError: (error: unknown) => void
}

const single: ReadonlySet<string> = new Set(['file', 'image'])
const several: ReadonlySet<string> = new Set(['files'])

/** Aborts when the client disconnects before the response is complete. */
function disconnection(response: ServerResponse): AbortSignal {
  const controller = new AbortController()
  if (response.destroyed) controller.abort()
  response.once('close', () => {
    if (!response.writableFinished) controller.abort()
  })
  return controller.signal
}

/** Checks credentials, rate limit and queue before it receives the images. */
async function receiveImages(
  request: IncomingMessage,
  response: ServerResponse,
  { caller: callers, countImages, analyser, uploads, budget, keeper }: PredictSettings,
  names: ReadonlySet<string>,
): Promise<{ readonly caller: Caller; readonly upload: HeldUpload; readonly options: StoreOptions }> {
  const caller = await callerOf(request, callers)
  if (caller.identity) noteRole(response, caller.identity.role)
  await countImages(caller, 1)
  if (analyser.isFull) throw problems.busy()
  const upload = await readUpload(request, { ...uploads, names, acceptsSingle: names === single, budget })
  try {
    if (upload.images.length === 0) throw problems.missing(names === single ? 'file' : 'files')
    if (upload.images.length > 1) await countImages(caller, upload.images.length - 1)
    const options = storeOptions(request, upload, keeper !== undefined)
    if (options.store && caller.isAnonymous) {
      throw problems.notAuthenticated('Storing a run needs a bearer token, a secret API key or a session')
    }
    return { caller, upload, options }
  } catch (error) {
    upload.release()
    throw error
  }
}

function onlyImage({ images }: HeldUpload): UploadedImage {
  const [image, ...others] = images
  if (!image) throw problems.missing('file')
  if (others.length > 0) {
    throw problems.invalid(
      'too_many_files',
      ['body', 'file'],
      'Only one file is accepted here: use the batch route for several',
    )
  }
  return image
}

/** `POST {prefix}/predict`: one image. */
export async function predict(
  request: IncomingMessage,
  response: ServerResponse,
  settings: PredictSettings,
): Promise<void> {
  await predictOne(request, response, settings, async (analysis, storeAs) => {
    const prediction = predictionOf(analysis)
    const runId = await storeAs(prediction)
    return runId === undefined ? prediction : { ...prediction, run_id: runId }
  })
}

/** `POST {prefix}/v1/predict`: one image, with a response in the older format. */
export async function predictOlder(
  request: IncomingMessage,
  response: ServerResponse,
  settings: PredictSettings,
): Promise<void> {
  await predictOne(request, response, settings, async (analysis, storeAs) => {
    const older = olderPredictionOf(analysis)
    if (!older) {
      const current = pathBelow(settings.prefix, '/predict')
      throw new Problem(503, `The image needs a review, which this format cannot express: use ${current}.`)
    }
    await storeAs(predictionOf(analysis))
    return older
  })
}

/** Receives and analyses one image, and sends the result of `answer`. `storeAs` resolves with the id of the run, if any. */
async function predictOne(
  request: IncomingMessage,
  response: ServerResponse,
  settings: PredictSettings,
  answer: (
    analysis: Analysis,
    storeAs: (prediction: PredictionResponse) => Promise<string | undefined>,
  ) => Promise<object>,
): Promise<void> {
  const { caller, upload, options } = await receiveImages(request, response, settings, single)
  try {
    const image = onlyImage(upload)
    await settings.predictor.requireUsable()
    const signal = disconnection(response)
    const analysis = await settings.predictor.analyse(image, signal)
    // Nothing is stored for a client that does not get the id, and may try again.
    if (signal.aborted) throw new ClientGone()
    const body = await answer(analysis, async (prediction) => {
      const [runId] = await store(
        [{ image, prediction, uri: options.imageUris[0] }],
        caller,
        options,
        settings,
        request,
      )
      return runId
    })
    sendJson(response, 200, body)
  } finally {
    upload.release()
  }
}

type Predicted = {
  readonly image: UploadedImage
  readonly prediction: PredictionResponse
  /** The file name that the client sent. */
  readonly uri: string | undefined
}

/** Stores predictions as runs if requested, with their images if requested, and returns their ids. */
async function store(
  predicted: readonly Predicted[],
  { identity }: Caller,
  { store: isAskedFor, keepImage, imageSource }: StoreOptions,
  { storeRuns, keeper }: PredictSettings,
  request: IncomingMessage,
): Promise<readonly string[]> {
  if (!isAskedFor || !identity || predicted.length === 0) return []
  const images: KeptImage[] = []
  try {
    const runs: RunToStore[] = []
    for (const { image, prediction, uri } of predicted) {
      const bytes = image.bytes ?? new Uint8Array()
      const kept = keepImage ? await keeper?.put(identity, bytes, originOf(request)) : undefined
      if (kept) images.push(kept)
      const imageUri = kept?.uri ?? uri ?? contentUri(bytes)
      runs.push({ prediction, imageSource, imageUri, ...(kept ? { kept } : {}) })
    }
    return await storeRuns(identity, runs)
  } catch (error) {
    // After a lost connection, the rows may be there: the bytes are left to the sweep of storage.
    if (images.length > 0 && !isUnreachable(error)) keeper?.discard(images)
    throw error
  }
}

/** The origin by which the client knows this server. */
function originOf({ headers }: IncomingMessage): string {
  const { host = 'localhost', 'x-forwarded-proto': scheme, 'x-forwarded-host': forwarded } = headers
  const name = typeof forwarded === 'string' ? forwarded : host
  const origin = `${scheme === 'https' ? 'https' : 'http'}://${name}`
  return URL.canParse(origin) ? new URL(origin).origin : 'http://localhost'
}

type BatchItem = { readonly image: string; readonly index: number } & (
  { readonly predicted: Predicted } | { readonly problem: Problem }
)

/** `POST {prefix}/predict/batch`: several images. Counts failed ones, or lists them with `errors=include`. */
export async function predictBatch(
  request: IncomingMessage,
  response: ServerResponse,
  settings: PredictSettings,
): Promise<void> {
  const { caller, upload, options } = await receiveImages(request, response, settings, several)
  try {
    await settings.predictor.requireUsable()
    const signal = disconnection(response)
    const items: BatchItem[] = []
    // One after the other, so that a batch occupies one place in the queue.
    for (const [index, image] of upload.images.entries()) {
      const uri = options.imageUris[index]
      items.push({ image: image.name, index, ...(await predictItem(image, uri, signal, settings)) })
      if (signal.aborted) throw new ClientGone()
    }
    const predicted = items.flatMap((item) => ('predicted' in item ? [item.predicted] : []))
    const failed = items.flatMap((item) => ('problem' in item ? [item] : []))
    if (predicted.length === 0) throw allFailed(failed)
    const ids = await store(predicted, caller, options, settings, request)
    const includesErrors = queryOf(request).get('errors')?.includes('include') === true
    const body = items.flatMap((item): object[] => {
      const { image, index } = item
      if ('problem' in item) return includesErrors ? [{ image, index, error: item.problem.message }] : []
      const runId = ids[predicted.indexOf(item.predicted)]
      return [{ ...item.predicted.prediction, ...(runId === undefined ? {} : { run_id: runId }), image, index }]
    })
    sendJson(response, 200, body, { 'X-Batch-Failed': String(failed.length) })
  } finally {
    upload.release()
  }
}

async function predictItem(
  image: UploadedImage,
  uri: string | undefined,
  signal: AbortSignal,
  { predictor, onError }: PredictSettings,
): Promise<{ readonly predicted: Predicted } | { readonly problem: Problem }> {
  try {
    const analysis = await predictor.analyse(image, signal)
    return { predicted: { image, uri, prediction: predictionOf(analysis) } }
  } catch (error) {
    const problem = problemOf(error)
    if (!problem) onError(error)
    return { problem: problem ?? internalError() }
  }
}

/** The error when no image could be analysed: their common server error, otherwise 400 with the errors of all images. */
function allFailed(failed: readonly { readonly image: string; readonly problem: Problem }[]): Problem {
  const [first] = failed
  if (first && first.problem.status >= 500 && failed.every(({ problem }) => problem.status === first.problem.status)) {
    return first.problem
  }
  const reasons = failed.map(({ image, problem }) => `${JSON.stringify(image)}: ${problem.message}`)
  return new Problem(400, `None of the files could be analysed. ${reasons.join(' ')}`, {
    'X-Batch-Failed': String(failed.length),
  })
}
