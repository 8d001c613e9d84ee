import type { ReactNode } from 'react'

import { count } from '../data/format.ts'

interface TokenCountProps {
  readonly whole: number
  /** How many of them were special, for example cached. Not shown if there are none. */
  readonly part: number
  readonly name: string
}

export function TokenCount({ whole, part, name }: TokenCountProps): ReactNode {
  return (
    <>
      {count(whole)} {part > 0 && <span className="quiet">{`${count(part)} ${name}`}</span>}
    </>
  )
}
