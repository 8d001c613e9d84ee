import type { ReactNode } from 'react'

import { cost } from '../data/format.ts'

/** What something cost. Null if the price of a model that was used is not known. */
export function Cost({ usd }: { readonly usd: number | null }): ReactNode {
  if (usd !== null) return cost(usd)
  return (
    <span className="quiet" title="The price of a model that was used is not known.">
      Price not known
    </span>
  )
}
