import type { ReactNode } from 'react'

import type { DecisionFields } from '../../client/documents.ts'
import { Ago } from './time.tsx'

const verbs = { APPROVED: 'Approved', DENIED: 'Denied', CLIENT_RETURN: 'Answered' } as const

/** On an open server everyone is the same actor, which has no name worth showing. */
const nameOf = (decidedBy: string | null): string =>
  decidedBy === 'open' ? 'a person (open server)' : (decidedBy ?? 'nobody: the time ran out')

/** Who decided what. */
export function DecisionTaken({ decision }: { readonly decision: DecisionFields }): ReactNode {
  return (
    <p role="status" className="decision-taken">
      {verbs[decision.kind]} by {nameOf(decision.decidedBy)} <Ago at={decision.decidedAt} />
      {decision.editedArguments != null && ', with other arguments'}
      {decision.scope === 'RUN' && ', for the rest of the run'}
      {decision.scope === 'AGENT' && ', for all later calls of the agent'}
      {decision.reason && <>: “{decision.reason}”</>}
    </p>
  )
}
