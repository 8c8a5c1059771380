// Reports that await a review.
import type { Viewer } from '../../api.ts'
import { useAction } from '../../forms.tsx'
import { Badge, Button, Empty, Loading, Problem, Table, useLoaded } from '../../parts.tsx'
import { ReadProblem } from '../../read-problem.tsx'
import { Time } from '../../values.tsx'
import {
  listPending,
  longestQueue,
  mileageText,
  priceText,
  reviewReport,
  type PendingReport,
  type Rest,
} from './reports.ts'

type QueueProps = { readonly viewer: Viewer; readonly rest: Rest }

export function Queue({ viewer, rest }: QueueProps) {
  const { value, error, reload } = useLoaded(() => listPending(viewer, rest), [viewer])
  const action = useAction()
  if (error !== undefined) {
    return <ReadProblem error={error} hint="Administrators review reports: users whose app_role is admin." />
  }
  if (!value) return <Loading />
  if (value.length === 0) {
    return (
      <Empty title="No report awaits a review">
        <p>
          New reports appear here, oldest first. Users send them with <code>POST /report</code>.
        </p>
      </Empty>
    )
  }
  const review = (id: string, isApproved: boolean): void =>
    action.run(() => reviewReport(viewer, rest, id, isApproved).then(reload))
  return (
    <>
      {value.length === longestQueue && <p class="faint">The oldest {longestQueue} reports are shown.</p>}
      <Problem error={action.error} />
      <Table head={['Vehicle', 'Mileage', 'Price', 'Estimate', 'Place', 'Sent', 'Decision']}>
        {value.map((report) => (
          <tr key={report.id}>
            <td>
              {report.manufacturer} {report.model} <span class="faint">{report.year}</span>
            </td>
            <td>{mileageText(report.mileage)}</td>
            <td>{priceText(report.price)}</td>
            <td>
              <Estimate report={report} />
            </td>
            <td>
              {report.lat.toFixed(2)}, {report.lng.toFixed(2)}
            </td>
            <td>
              <Time at={report.created_at} />
            </td>
            <td>
              <span class="bar tight">
                <Button isBusy={action.isBusy} onClick={() => review(report.id, true)}>
                  Approve
                </Button>
                <Button kind="danger" isBusy={action.isBusy} onClick={() => review(report.id, false)}>
                  Reject
                </Button>
              </span>
            </td>
          </tr>
        ))}
      </Table>
    </>
  )
}

/** Whether the price is one that the approved reports of others suggest. */
function Estimate({ report: { price, valuation } }: { readonly report: PendingReport }) {
  const { estimate, low, high, currency } = valuation
  if (estimate === null || low === null || high === null) return <span class="faint">too few reports</span>
  return (
    <>
      {priceText(estimate, currency)}{' '}
      <Badge kind={price < low || price > high ? 'warning' : 'good'}>
        {price < low ? 'below the range' : price > high ? 'above the range' : 'within the range'}
      </Badge>
    </>
  )
}
