import type { ReactNode } from 'react'

import type { DecisionFields } from '../../client/documents.ts'
import { Ago } from './time.tsx'

const verbs = { APPROVED: 'Approved', DENIED: 'Denied', CLIENT_RETURN: 'Answered' } as const

/** Who decided what. */
export function DecisionTaken({ decision }: { readonly decision: DecisionFields }): ReactNode {
  return (
    <p role="status" className="decision-taken">
      {verbs[decision.kind]} by {decision.decidedBy ?? 'nobody: the time ran out'} <Ago at={decision.decidedAt} />
      {decision.editedArguments != null && ', with other arguments'}
      {decision.scope === 'RUN' && ', for the rest of the run'}
      {decision.scope === 'AGENT' && ', for all later calls of the agent'}
      {decision.reason && <>: “{decision.reason}”</>}
    </p>
  )
}
