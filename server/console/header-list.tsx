// Headers of a request or response.

type HeaderListProps = {
  /** A value is null where it may be a secret. */
  readonly headers: readonly (readonly [name: string, value: string | null])[]
}

export const HeaderList = ({ headers }: HeaderListProps) => (
  <ul class="headers">
    {headers.map(([name, value], index) => (
      <li key={index}>
        <code>
          {name}: {value ?? <span class="faint">hidden, as it may be a secret</span>}
        </code>
      </li>
    ))}
  </ul>
)
