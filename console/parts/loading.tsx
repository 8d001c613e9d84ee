import type { ReactNode } from 'react'

import { useLost } from '../data/use-lost.ts'
import { Problem } from './problem.tsx'
import { Skeleton } from './skeleton.tsx'

interface LoadingProps {
  readonly of: { readonly error: Error | undefined }
  /** Undefined until it has arrived. */
  readonly data: unknown
  readonly lines?: number
}

/**
 * Stands for what has not arrived yet, and says why if it cannot be loaded. While the connection is lost, the frame
 * says so, and what is missing arrives when it is back.
 */
export function Loading({ of: { error }, data, lines }: LoadingProps): ReactNode {
  const isLost = useLost()
  if (error && !isLost) return <Problem>{error.message}</Problem>
  return data === undefined ? <Skeleton {...(lines && { lines })} /> : null
}
