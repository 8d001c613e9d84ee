import type { ReactNode } from 'react'

import { Problem } from './problem.tsx'
import { Skeleton } from './skeleton.tsx'

interface LoadingProps {
  readonly of: { readonly error: Error | undefined }
  /** Undefined until it has arrived. */
  readonly data: unknown
  readonly lines?: number
}

/** Stands for what has not arrived yet, and says why if it cannot be loaded. */
export function Loading({ of: { error }, data, lines }: LoadingProps): ReactNode {
  if (error) return <Problem>{error.message}</Problem>
  return data === undefined ? <Skeleton {...(lines && { lines })} /> : null
}
