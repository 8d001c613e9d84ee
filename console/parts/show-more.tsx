import type { ReactNode } from 'react'

import type { Pages } from '../data/use-pages.ts'
import { Button } from './button.tsx'

interface ShowMoreProps {
  readonly of: Pick<Pages<unknown>, 'hasMore' | 'isLoading' | 'more'>
  readonly label?: string
}

/** Loads the next page of a list. */
export function ShowMore({ of, label = 'Show more' }: ShowMoreProps): ReactNode {
  if (!of.hasMore) return null
  return (
    <div className="row center">
      <Button isBusy={of.isLoading} onClick={of.more}>
        {label}
      </Button>
    </div>
  )
}
