// A link to the explainer, for requests to the REST API.
import { href } from '../../router.ts'
import { useSession } from '../../session.tsx'

type ExplainLinkProps = {
  readonly request: { readonly method: string; readonly path: string; readonly role: string | null }
  readonly text: string
}

export function ExplainLink({ request: { method, path, role }, text }: ExplainLinkProps) {
  const { restPath, roles } = useSession()
  const isRest = restPath === '/' || path.startsWith(`${restPath}/`)
  if (!isRest || !['GET', 'HEAD', 'DELETE'].includes(method)) return null
  const query = new URLSearchParams({ request: `${method} ${path}` })
  if (role !== null && roles.includes(role)) query.set('role', role)
  return <a href={href(['explain'], query)}>{text}</a>
}
