// What a viewer who may not read something can do about it.
import { serviceRole } from './api.ts'
import { Button, Problem } from './parts.tsx'
import { isSameViewer, useViewer, viewerLabel } from './viewer.tsx'

/** A button to look as the role that sees everything, unless it is chosen. */
export function LookAsServiceRole() {
  const { viewer, choose } = useViewer()
  return isSameViewer(viewer, serviceRole) ? null : (
    <Button onClick={() => choose(serviceRole)}>Look as service_role</Button>
  )
}

type ReadProblemProps = {
  readonly error: unknown
  /** Who sees more. */
  readonly hint: string
}

export function ReadProblem({ error, hint }: ReadProblemProps) {
  const { viewer } = useViewer()
  if (error === undefined) return null
  return (
    <>
      <Problem error={error} />
      {!isSameViewer(viewer, serviceRole) && (
        <p class="bar">
          <span>
            You look as {viewerLabel(viewer)}. {hint}
          </span>
          <LookAsServiceRole />
        </p>
      )}
    </>
  )
}
