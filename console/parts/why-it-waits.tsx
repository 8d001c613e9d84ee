import type { ReactNode } from 'react'

import type { ToolCallFields, WaitingFields } from '../../client/documents.ts'
import { useSession } from '../data/session.ts'
import { Until } from './time.tsx'

interface WhyItWaitsProps {
  readonly call: ToolCallFields
  readonly waiting: WaitingFields | undefined
}

/** Why a call waits, who may decide, how many have decided, and when it expires. */
export function WhyItWaits({ call, waiting }: WhyItWaitsProps): ReactNode {
  const session = useSession()
  const scope = call.needs === 'CLIENT_EXECUTION' ? 'RUN' : 'APPROVE'
  const isAllowed = session.phase !== 'READY' || session.viewer.scopes.includes(scope)
  return (
    <p className="why">
      {reasonOf(call, waiting)} {whoMay(call, waiting)}
      {call.approvalsRequired > 1 && waiting && (
        <>
          {' '}
          {waiting.approvals.length} of {call.approvalsRequired} approvals
          {waiting.approvals.length > 0 &&
            `, by ${waiting.approvals.map(({ decidedBy }) => decidedBy ?? 'nobody').join(', ')}`}
          .
        </>
      )}
      {call.expiresAt && (
        <>
          {' '}
          Denied <Until at={call.expiresAt} /> if nobody decides.
        </>
      )}
      {!isAllowed && <strong> Your key lacks the {scope} scope.</strong>}
    </p>
  )
}

function reasonOf({ needs }: ToolCallFields, waiting: WaitingFields | undefined): string {
  if (needs === 'CLIENT_EXECUTION') return 'This tool runs in a client, which returns the result.'
  if (!waiting?.tool) return 'This call needs approval.'
  const { approvalCondition, requiresApproval } = waiting.tool
  if (approvalCondition !== null) return 'Its arguments meet the tool’s condition for approval.'
  return requiresApproval
    ? 'Every call of this tool needs approval.'
    : 'A rule or setting of this agent asks for approval.'
}

function whoMay({ needs }: ToolCallFields, waiting: WaitingFields | undefined): string {
  if (needs === 'CLIENT_EXECUTION') return 'Anyone with the RUN scope may answer.'
  const others = waiting?.tool?.approvalExcludesSender ? ` except ${waiting.run.sentBy?.name ?? 'the sender'}` : ''
  return `Anyone with the APPROVE scope may decide${others}.`
}
