// `/report`: vehicle reports of the signed-in user, and valuations.
import { requireBearerScheme } from '../../http/authorization-scheme.ts'
import { crossOrigin } from '../../http/cross-origin.ts'
import type { Success } from '../../http/envelope.ts'
import { defineEnvelopeRoute, type QueryParameters } from '../../http/envelope-dialect.ts'
import { uuidParameter } from '../../http/path-id.ts'
import type { Route } from '../../http/route.ts'
import type { RouteTable } from '../../http/router.ts'
import { done, dto, failure, page, success } from '../../http/service-response.ts'
import type { SessionSettings } from '../accounts/session.ts'
import { signedInCaller } from '../accounts/session-access.ts'
import type { SessionCaller } from '../accounts/session-caller.ts'
import { readCursor } from './report-cursor.ts'
import {
  createReports,
  type ReportsSettings,
  type CreateReportDto,
  type EstimateQuery,
  type Reports,
  type UpdateReportDto,
} from './report.ts'

export type ReportSettings = SessionSettings &
  ReportsSettings & {
    /** Other origins whose pages may use the service; read at each request. */
    readonly allowedOrigins: () => readonly string[]
  }

/** `schemas/list-reports-query.json` and `schemas/approval-dto.json`. */
type ListReportsQuery = { readonly limit?: number; readonly cursor?: string }
type ApprovalDto = { readonly approved: boolean }

type PageCall = { readonly caller: SessionCaller; readonly query: ListReportsQuery }

const pageSize = 20
const forAdministrators = 'For administrators only: accounts with the app_role `admin`.'
const noSuchReport = failure('The caller has no such report.')
const pathParameters = { id: uuidParameter('Id of the report.') }

const listQuery: QueryParameters<ListReportsQuery> = {
  schema: dto('ListReportsQuery'),
  parameters: {
    limit: 'Maximum number of reports on the page; by default 20.',
    cursor: '`nextCursor` of the previous page.',
  },
  required: false,
  numeric: ['limit'],
}

const estimateQuery: QueryParameters<EstimateQuery> = {
  schema: dto('EstimateQuery'),
  parameters: {
    manufacturer: 'Manufacturer. Case and spaces are ignored.',
    model: 'Model. Case and spaces are ignored.',
    year: 'Model year.',
    mileage: 'Mileage in kilometres.',
    lat: 'Degrees north.',
    lng: 'Degrees east.',
  },
  required: true,
  numeric: ['year', 'mileage', 'lat', 'lng'],
}

/** The handler of a list in pages. */
const pageOf =
  (list: Reports['list']) =>
  async ({ caller, query }: PageCall): Promise<Success> => {
    const { limit = pageSize, cursor } = query
    const after = cursor === undefined ? undefined : readCursor(cursor)
    const { reports, next } = await caller.run((actor) => list(actor, limit, after))
    return { details: reports, nextCursor: next }
  }

export const reportTable = (settings: ReportSettings): RouteTable => ({
  guards: [requireBearerScheme, crossOrigin(settings.allowedOrigins)],
  routes: reportRoutes(settings),
})

function reportRoutes(settings: ReportSettings): readonly Route[] {
  const reports = createReports(settings)
  const access = signedInCaller(settings)
  return [
    defineEnvelopeRoute({
      method: 'get',
      path: '/report',
      id: 'listReports',
      tag: 'reports',
      summary: 'Your reports, newest first',
      access,
      query: listQuery,
      success: page('A page of your reports.', 'ReportDto'),
      handler: pageOf(reports.list),
    }),
    defineEnvelopeRoute({
      method: 'post',
      path: '/report',
      id: 'createReport',
      tag: 'reports',
      summary: 'Report a vehicle',
      access,
      body: dto<CreateReportDto>('CreateReportDto'),
      success: success(201, 'The stored report.', dto('ReportDto')),
      errors: {
        403: failure('The policies of the database do not allow it, or the request comes from a page of another site.'),
        409: failure('The profile of the caller was deleted.'),
      },
      handler: async ({ caller, body }) => ({ details: await caller.run((actor) => reports.create(actor, body)) }),
    }),
    defineEnvelopeRoute({
      method: 'get',
      path: '/report/pending',
      id: 'listPendingReports',
      tag: 'reports',
      summary: 'Pending reports of all users, oldest first',
      description: forAdministrators,
      access,
      query: listQuery,
      success: page('A page of pending reports.', 'ReportDto'),
      errors: { 403: failure('The caller is not an administrator.') },
      handler: pageOf(reports.pending),
    }),
    defineEnvelopeRoute({
      method: 'get',
      path: '/report/estimate',
      id: 'estimateReport',
      tag: 'reports',
      summary: 'Estimate the price of a vehicle',
      description:
        'Based on the approved reports of other users about the same manufacturer and model, weighted by similarity of year, mileage and location.',
      access,
      query: estimateQuery,
      success: success(200, 'The valuation.', dto('ValuationDto')),
      handler: async ({ caller, query }) => ({ details: await caller.run((actor) => reports.estimate(actor, query)) }),
    }),
    defineEnvelopeRoute({
      method: 'get',
      path: '/report/{id}',
      id: 'showReport',
      tag: 'reports',
      summary: 'One of your reports, with its valuation',
      access,
      pathParameters,
      success: success(200, 'The report.', dto('ReportDto')),
      errors: { 404: noSuchReport },
      handler: async ({ caller, path: { id } }) => ({ details: await caller.run((actor) => reports.find(actor, id)) }),
    }),
    defineEnvelopeRoute({
      method: 'patch',
      path: '/report/{id}',
      id: 'changeReport',
      tag: 'reports',
      summary: 'Change a report that is pending',
      access,
      pathParameters,
      body: dto<UpdateReportDto>('UpdateReportDto'),
      success: success(200, 'The report as it is now.', dto('ReportDto')),
      errors: { 404: noSuchReport, 409: failure('The report is already approved or rejected.') },
      handler: async ({ caller, path: { id }, body }) => ({
        details: await caller.run((actor) => reports.change(actor, id, body)),
      }),
    }),
    defineEnvelopeRoute({
      method: 'delete',
      path: '/report/{id}',
      id: 'deleteReport',
      tag: 'reports',
      summary: 'Delete a report',
      access,
      pathParameters,
      success: done('The report was deleted.'),
      errors: { 404: noSuchReport },
      handler: async ({ caller, path: { id } }) => {
        await caller.run((actor) => reports.remove(actor, id))
        return { message: 'report deleted successfully' }
      },
    }),
    defineEnvelopeRoute({
      method: 'patch',
      path: '/report/{id}/approval',
      id: 'reviewReport',
      tag: 'reports',
      summary: 'Approve or reject a report',
      description: forAdministrators,
      access,
      pathParameters,
      body: dto<ApprovalDto>('ApprovalDto'),
      success: success(200, 'The report as it is now.', dto('ReportDto')),
      errors: {
        403: failure('The caller is not an administrator, or the request comes from a page of another site.'),
        404: failure('There is no such report.'),
      },
      handler: async ({ caller, path: { id }, body: { approved } }) => ({
        details: await caller.run((actor) => reports.review(actor, id, approved)),
      }),
    }),
  ]
}
