// Numbers with their names.
import type { ComponentChildren } from 'preact'

export const Figures = ({ children }: { readonly children: ComponentChildren }) => <dl class="figures">{children}</dl>

export const Figure = ({ name, value }: { readonly name: string; readonly value: number | string }) => (
  <div>
    <dt>{name}</dt>
    <dd>{value}</dd>
  </div>
)
