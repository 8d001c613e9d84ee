import type { ReactNode } from 'react'

import type { ToolCallFields, WaitingFields } from '../../client/documents.ts'
import { useSession } from '../data/session.ts'
import { Until } from './time.tsx'

interface WhyItWaitsProps {
  readonly call: ToolCallFields
  readonly waiting: WaitingFields | undefined
}

/** Why a call waits, who may decide, how many have decided, and when it expires: a few words each, the rest on hover. */
export function WhyItWaits({ call, waiting }: WhyItWaitsProps): ReactNode {
  const session = useSession()
  const scope = call.needs === 'CLIENT_EXECUTION' ? 'RUN' : 'APPROVE'
  const isAllowed = session.phase !== 'READY' || session.viewer.scopes.includes(scope)
  const [why, because] = reasonOf(call, waiting)
  const isOther = scope === 'APPROVE' && waiting?.tool?.approvalExcludesSender
  return (
    <p className="why">
      <span title={because}>{why}</span>
      <span title={`Who has the scope ${scope}${isOther ? ', and has not sent the message' : ''}`}>
        {isOther ? `anyone but ${waiting.run.sentBy?.name ?? 'the sender'}` : 'anyone'} with {scope} may decide
      </span>
      {call.approvalsRequired > 1 && waiting && (
        <span>
          {waiting.approvals.length} of {call.approvalsRequired} approvals
          {waiting.approvals.length > 0 &&
            `, by ${waiting.approvals.map(({ decidedBy }) => decidedBy ?? 'nobody').join(', ')}`}
        </span>
      )}
      {call.expiresAt && (
        <span>
          denied <Until at={call.expiresAt} /> if nobody decides
        </span>
      )}
      {!isAllowed && <strong>Your key lacks the {scope} scope.</strong>}
    </p>
  )
}

function reasonOf({ needs }: ToolCallFields, waiting: WaitingFields | undefined): readonly [string, string] {
  if (needs === 'CLIENT_EXECUTION') return ['Runs in a client', 'This tool runs in a client, which returns the result.']
  if (!waiting?.tool) return ['Needs approval', 'This call needs approval.']
  if (waiting.tool.approvalCondition !== null)
    return ['Arguments need approval', 'The arguments meet the tool’s condition for approval.']
  return waiting.tool.requiresApproval
    ? ['Always needs approval', 'Every call of this tool needs approval.']
    : ['Agent requires approval', 'A rule or setting of this agent asks for approval.']
}
