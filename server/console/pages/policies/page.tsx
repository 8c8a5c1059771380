// Who may do what with which rows, what is wrong with it, and what the policy tests notice.
import type { CheckReport } from '../../../services/console/policy-protocol.ts'
import { consoleApi } from '../../api.ts'
import { Loading, Problem, useLoaded } from '../../parts.tsx'
import { href, useRoute } from '../../router.ts'
import { Findings } from './findings.tsx'
import { Matrix } from './matrix-view.tsx'
import { Tests } from './tests.tsx'

const parts = [
  ['', 'Who may do what'],
  ['findings', 'Findings'],
  ['tests', 'Policy tests'],
] as const

export default function PoliciesPage() {
  const { path } = useRoute()
  const part = path[1] ?? ''
  const { value: report, error, reload } = useLoaded((signal) => consoleApi<CheckReport>('check', { signal }), [])
  const count = report?.findings.filter(({ level }) => level !== 'INFO').length ?? 0
  return (
    <div class="policies-page">
      <h1>Policies</h1>
      <nav class="tabs" aria-label="Parts of this page">
        {parts.map(([name, title]) => (
          <a
            key={name}
            href={href(name === '' ? ['policies'] : ['policies', name])}
            {...(part === name ? { 'aria-current': 'page' } : {})}
          >
            {title}
            {name === 'findings' && count > 0 && ` (${count})`}
          </a>
        ))}
        <a href={href(['explain'])}>Explain a request</a>
      </nav>
      <Problem error={error} />
      {part === 'tests' ? (
        <Tests report={report} />
      ) : report ? (
        part === 'findings' ? (
          <Findings report={report} onChange={reload} />
        ) : (
          <Matrix report={report} />
        )
      ) : (
        error === undefined && <Loading text="Reading policies and privileges …" />
      )}
    </div>
  )
}
