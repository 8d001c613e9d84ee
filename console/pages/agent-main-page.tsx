import type { ReactNode } from 'react'
import { Redirect } from 'wouter'

import { AgentMain } from '../data/documents.ts'
import { useQuery } from '../data/use-query.ts'
import { Problem } from '../parts/problem.tsx'
import { Skeleton } from '../parts/skeleton.tsx'
import { NotFoundPage } from './not-found-page.tsx'

/** The address of an agent redirects to its main conversation. */
export function AgentMainPage({ id }: { readonly id: string }): ReactNode {
  const { data, error } = useQuery(AgentMain, { id })
  if (error && !data) return <Problem>{error.message}</Problem>
  if (!data) return <Skeleton lines={6} />
  if (!data.agent) return <NotFoundPage what="agent" />
  return <Redirect to={`/conversations/${data.agent.mainConversation.id}`} replace />
}
