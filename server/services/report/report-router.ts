// `/report`: vehicle reports of the signed-in user, and what vehicles are worth.
import express, { type Request, type Response, type Router } from 'express'
import { crossOrigin } from '../../http/cross-origin.ts'
import { errorResponder, methodNotAllowed, notFound, sendSuccess } from '../../http/envelope.ts'
import { databaseFailure } from '../database-failure.ts'
import { bodyReader } from '../../http/json-body.ts'
import { uuidIn } from '../../http/path-id.ts'
import { readQuery } from '../../http/query-string.ts'
import { currentSession, sessionIdentity, type SessionSettings } from '../accounts/session.ts'
import type { InTransaction } from '../../postgres/transaction.ts'
import type { Identity } from '../../identity/identity.ts'
import type { Validator } from '../../validation/validator.ts'
import { readCursor } from './report-cursor.ts'
import { createReports, type CreateReportDto, type EstimateQuery, type UpdateReportDto } from './report.ts'

export type ReportSettings = SessionSettings & {
  readonly transaction: InTransaction
  readonly validator: Validator
  /** Bytes. */
  readonly bodyLimit: number
  /** Origins beside our own whose pages may use the service; read at each request. */
  readonly allowedOrigins: () => readonly string[]
  /** Gets the errors that are not the client's doing, to be logged. */
  readonly onError: (error: unknown) => void
}

/** `schemas/list-reports-query.json`. */
type ListReportsQuery = { readonly limit?: number; readonly cursor?: string }

const pageSize = 20
const numericInList: ReadonlySet<string> = new Set(['limit'])
const numericInEstimate: ReadonlySet<string> = new Set(['year', 'mileage', 'lat', 'lng'])

/**
 * The routes below the mount path, each response in the envelope, 401 without a session: `GET /` with `nextCursor`;
 * `POST /` 201; `GET /estimate`; `GET`, `PATCH` (409 when it is reviewed) and `DELETE /{id}`; `GET /pending` and
 * `PATCH /{id}/approval`, 403 unless an administrator asks.
 */
export function reportRouter(settings: ReportSettings): Router {
  const { validator } = settings
  const validateReport = validator.forDto('urn:rowhouse:CreateReportDto')
  const validateChange = validator.forDto('urn:rowhouse:UpdateReportDto')
  const validateApproval = validator.forDto('urn:rowhouse:ApprovalDto')
  const validateList = validator.forDto('urn:rowhouse:ListReportsQuery')
  const validateEstimate = validator.forDto('urn:rowhouse:EstimateQuery')
  const reports = createReports(settings.transaction)
  const readBody = bodyReader(settings.bodyLimit)
  const router = express.Router()
  router.use(crossOrigin(settings.allowedOrigins))

  // First in each route: bodies and queries are read only after it is known whose they are.
  const callerOf = async (request: Request, response: Response): Promise<Identity> =>
    sessionIdentity(await currentSession(request, response, settings))

  router
    .route('/')
    .get(async (request, response) => {
      const caller = await callerOf(request, response)
      const { limit = pageSize, cursor } = readQuery<ListReportsQuery>(request, numericInList, validateList)
      const page = await reports.list(caller, limit, cursor === undefined ? undefined : readCursor(cursor))
      sendSuccess(response, 200, { details: page.reports, nextCursor: page.next })
    })
    .post(async (request, response) => {
      const caller = await callerOf(request, response)
      const dto = await readBody<CreateReportDto>(request, response, validateReport)
      sendSuccess(response, 201, { details: await reports.create(caller, dto) })
    })
    .all(methodNotAllowed('GET', 'HEAD', 'POST'))

  router
    .route('/pending')
    .get(async (request, response) => {
      const caller = await callerOf(request, response)
      const { limit = pageSize, cursor } = readQuery<ListReportsQuery>(request, numericInList, validateList)
      const page = await reports.pending(caller, limit, cursor === undefined ? undefined : readCursor(cursor))
      sendSuccess(response, 200, { details: page.reports, nextCursor: page.next })
    })
    .all(methodNotAllowed('GET', 'HEAD'))

  router
    .route('/estimate')
    .get(async (request, response) => {
      const caller = await callerOf(request, response)
      const vehicle = readQuery<EstimateQuery>(request, numericInEstimate, validateEstimate)
      sendSuccess(response, 200, { details: await reports.estimate(caller, vehicle) })
    })
    .all(methodNotAllowed('GET', 'HEAD'))

  router
    .route('/:id')
    .get(async (request, response) => {
      const caller = await callerOf(request, response)
      sendSuccess(response, 200, { details: await reports.find(caller, uuidIn(request.params.id)) })
    })
    .patch(async (request, response) => {
      const caller = await callerOf(request, response)
      const id = uuidIn(request.params.id)
      const dto = await readBody<UpdateReportDto>(request, response, validateChange)
      sendSuccess(response, 200, { details: await reports.change(caller, id, dto) })
    })
    .delete(async (request, response) => {
      const caller = await callerOf(request, response)
      await reports.remove(caller, uuidIn(request.params.id))
      sendSuccess(response, 200, { message: 'report deleted successfully' })
    })
    .all(methodNotAllowed('GET', 'HEAD', 'PATCH', 'DELETE'))

  router
    .route('/:id/approval')
    .patch(async (request, response) => {
      const caller = await callerOf(request, response)
      const id = uuidIn(request.params.id)
      const { approved } = await readBody<{ readonly approved: boolean }>(request, response, validateApproval)
      sendSuccess(response, 200, { details: await reports.review(caller, id, approved) })
    })
    .all(methodNotAllowed('PATCH'))

  router.use(notFound)
  router.use(errorResponder(settings.onError, databaseFailure))
  return router
}
