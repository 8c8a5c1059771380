// What a viewer who may see no reports can do about it.
import { serviceRole, type Viewer } from '../../api.ts'
import { Button, Problem } from '../../parts.tsx'
import { isSameViewer, useViewer, viewerLabel } from '../../viewer.tsx'

type RefusalProps = {
  readonly error: unknown
  readonly viewer: Viewer
  /** Who sees more. */
  readonly hint: string
}

export function Refusal({ error, viewer, hint }: RefusalProps) {
  const { choose } = useViewer()
  if (error === undefined) return null
  return (
    <>
      <Problem error={error} />
      {!isSameViewer(viewer, serviceRole) && (
        <p class="bar">
          <span>
            You look as {viewerLabel(viewer)}. {hint}
          </span>
          <Button onClick={() => choose(serviceRole)}>Look as service_role</Button>
        </p>
      )}
    </>
  )
}
