// `/report`: vehicle reports of the signed-in user.
import express, { type Router } from 'express'
import { errorResponder, methodNotAllowed, notFound, sendSuccess } from '../accounts/envelope.ts'
import { bodyReader } from '../accounts/json-body.ts'
import { currentSession, sessionIdentity, type SessionSettings } from '../accounts/session.ts'
import type { InTransaction } from '../database/transaction.ts'
import type { Validator } from '../validation/validator.ts'
import { createReport, type CreateReportDto } from './report.ts'

export type ReportSettings = SessionSettings & {
  readonly transaction: InTransaction
  readonly validator: Validator
  /** Bytes. */
  readonly bodyLimit: number
  /** Gets the errors that are not the client's doing, to be logged. */
  readonly onError: (error: unknown) => void
}

/** The routes below the mount path, with every answer in the envelope: `POST /` 201, 400, 401. */
export function reportRouter(settings: ReportSettings): Router {
  const validateReport = settings.validator.forDto('urn:rowhouse:CreateReportDto')
  const readBody = bodyReader(settings.bodyLimit)
  const router = express.Router()

  router
    .route('/')
    .post(async (request, response) => {
      // First of all: nobody's body is read before it is clear whose it is.
      const session = await currentSession(request, settings)
      const dto = await readBody<CreateReportDto>(request, response, validateReport)
      sendSuccess(response, 201, await createReport(settings.transaction, sessionIdentity(session), dto))
    })
    .all(methodNotAllowed('POST'))

  router.use(notFound)
  router.use(errorResponder(settings.onError))
  return router
}
