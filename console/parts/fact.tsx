import type { ReactNode } from 'react'

/** A name and a value in a `dl`. */
export function Fact({ name, value }: { readonly name: string; readonly value: ReactNode }): ReactNode {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  )
}
