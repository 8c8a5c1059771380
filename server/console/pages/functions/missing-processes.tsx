// A note that figures or lines are not those of all processes.

export const MissingProcesses = ({ count }: { readonly count: number }) =>
  count === 0 ? null : (
    <p class="small faint">
      Without those of {count === 1 ? 'one process' : `${count} processes`} of the server, which did not answer in time.
    </p>
  )
