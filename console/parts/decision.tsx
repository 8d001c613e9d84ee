import { useEffect, useState, type ReactNode } from 'react'

import type { DecisionFields, ToolCallFields, WaitingFields } from '../../client/documents.ts'
import type { ApprovalDecisionInput, ApprovalScope } from '../../client/schema-types.ts'
import { useClient } from '../../react/client-context.ts'
import { decide } from '../../client/decide.ts'
import { pretty } from '../data/format.ts'
import { Refused, useAction } from '../data/use-action.ts'
import { useFocusKept } from '../data/use-focus-kept.ts'
import { useKeptForm } from '../data/use-kept.ts'
import { Button } from './button.tsx'
import { DecisionTaken } from './decision-taken.tsx'
import { Field } from './field.tsx'
import { Problem } from './problem.tsx'
import { WhyItWaits } from './why-it-waits.tsx'

export type DecisionMode = 'CHOOSE' | 'DENY' | 'EDIT'

interface DecisionProps {
  readonly call: ToolCallFields
  /** Undefined until it is known. */
  readonly waiting: WaitingFields | undefined
  /** Opens one of the forms from outside, as the inbox does for its keyboard shortcuts. */
  readonly mode: DecisionMode
  readonly onMode: (mode: DecisionMode) => void
  /** Whether the person writes in a field. As long as that is so, the form must stay where it is. */
  readonly onWriting: (isWriting: boolean) => void
  /** The decision is on its way to the server. */
  readonly onAct?: () => void
}

/** What a person can do with a waiting call: approve it, deny it, edit its arguments, or return its result. */
export function Decision({ call, waiting, mode, onMode, onWriting, onAct }: DecisionProps): ReactNode {
  const client = useClient()
  const { form, set, forget } = useKeptForm(`call.${call.id}`, {
    reason: '',
    text: pretty(call.arguments ?? call.argumentsText),
    output: '',
  })
  const { reason, text, output } = form
  const [scope, setScope] = useState<ApprovalScope>('ONCE')
  const [taken, setTaken] = useState<DecisionFields>()
  const { id: toolCallId } = call

  const submit = useAction(async (decision: ApprovalDecisionInput) => {
    onAct?.()
    const result = await decide(client, call.run.id, [decision])
    if (result.__typename === 'SubmitApprovalsSuccess') {
      forget()
      return onWriting(false)
    }
    if (result.__typename === 'AlreadyDecidedRefusal') {
      setTaken(result.decisions.find((one) => one.toolCallId === toolCallId) ?? result.decisions[0])
    } else if (result.__typename === 'InvalidArgumentsRefusal') {
      throw new Refused(result.problems.map(({ path, message }) => `${path || 'arguments'}: ${message}`).join('\n'))
    } else throw new Refused(result.message)
  })
  const approve = (): void => submit.run({ approve: { toolCallId, scope } })
  const approveEdited = useAction(async () => {
    const edited = parseJson(text)
    const isSame = JSON.stringify(edited) === JSON.stringify(call.arguments)
    submit.run({ approve: { toolCallId, scope, ...(!isSame && { arguments: edited }) } })
  })

  const close = (): void => {
    onWriting(false)
    onMode('CHOOSE')
  }
  const root = useFocusKept(mode)
  const problem = approveEdited.problem ?? submit.problem
  // The buttons below a form that opens, or that grows by a problem, may be out of view.
  useEffect(() => {
    if (mode !== 'CHOOSE' || problem) root.current?.scrollIntoView({ block: 'nearest' })
  }, [root, mode, problem])

  if (taken) return <DecisionTaken decision={taken} />
  const isClient = call.needs === 'CLIENT_EXECUTION'
  const isWaiting = call.status === 'PENDING'
  return (
    <div
      ref={root}
      className="decision"
      onFocus={({ target }) => isField(target) && onWriting(true)}
      onInput={({ target }) => isField(target as Element) && onWriting(true)}
      onBlur={({ currentTarget, relatedTarget }) =>
        isWaiting && relatedTarget && !currentTarget.contains(relatedTarget) && onWriting(false)
      }
    >
      {isWaiting ? <WhyItWaits call={call} waiting={waiting} /> : <NoLonger call={call} onClose={close} />}
      {isClient && (
        <form
          className="stack"
          onSubmit={(event) => {
            event.preventDefault()
            submit.run({ toolReturn: { toolCallId, status: 'SUCCESS', output } })
          }}
        >
          <Field
            label="Result"
            as="textarea"
            rows={3}
            value={output}
            onChange={(event) => set({ output: event.target.value })}
          />
          <div className="row">
            <Button look="primary" type="submit" isBusy={submit.isBusy}>
              Return result
            </Button>
            <Button
              isBusy={submit.isBusy}
              onClick={() => submit.run({ toolReturn: { toolCallId, status: 'ERROR', output } })}
            >
              Return as error
            </Button>
            <Button data-opens="DENY" isBusy={submit.isBusy} onClick={() => onMode('DENY')}>
              Deny
            </Button>
          </div>
        </form>
      )}
      {isWaiting && !isClient && mode !== 'EDIT' && (
        <div className="row">
          <Button look="primary" icon="check" isBusy={submit.isBusy} onClick={approve}>
            Approve
          </Button>
          <Button
            aria-expanded={mode === 'DENY'}
            isBusy={submit.isBusy}
            data-opens="DENY"
            onClick={() => (mode === 'DENY' ? close() : onMode('DENY'))}
          >
            Deny
          </Button>
          <Button data-opens="EDIT" isBusy={submit.isBusy} onClick={() => onMode('EDIT')}>
            Edit arguments
          </Button>
          <ScopeChoice value={scope} onChange={setScope} />
        </div>
      )}
      {mode === 'DENY' && (
        <form
          className="stack"
          onSubmit={(event) => {
            event.preventDefault()
            submit.run({ deny: { toolCallId, reason: reason || null } })
          }}
        >
          <Field
            label="Reason"
            hint="The model reads it."
            value={reason}
            autoFocus
            onChange={(event) => set({ reason: event.target.value })}
            onKeyDown={(event) => event.key === 'Escape' && close()}
          />
          <div className="row">
            <Button look="danger" type="submit" isBusy={submit.isBusy}>
              Deny with reason
            </Button>
            <Button look="quiet" onClick={close}>
              Back
            </Button>
          </div>
        </form>
      )}
      {mode === 'EDIT' && !isClient && (
        <form
          className="stack"
          onSubmit={(event) => {
            event.preventDefault()
            approveEdited.run()
          }}
        >
          <Field
            label="Arguments"
            as="textarea"
            className="mono"
            rows={Math.min(14, text.split('\n').length + 1)}
            value={text}
            autoFocus
            spellCheck={false}
            problem={problem}
            onChange={(event) => {
              set({ text: event.target.value })
              submit.clear()
              approveEdited.clear()
            }}
            onKeyDown={(event) => event.key === 'Escape' && close()}
          />
          <div className="row">
            <Button look="primary" type="submit" isBusy={submit.isBusy}>
              Approve edited
            </Button>
            <Button look="quiet" onClick={close}>
              Back
            </Button>
          </div>
        </form>
      )}
      {mode !== 'EDIT' && <Problem>{submit.problem}</Problem>}
    </div>
  )
}

const isField = (target: Element): boolean => target.matches('input, textarea')

/** Someone else was faster. The form in which the person writes stays until it is closed. */
function NoLonger({ call, onClose }: { readonly call: ToolCallFields; readonly onClose: () => void }): ReactNode {
  return (
    <div className="row">
      {call.decision ? <DecisionTaken decision={call.decision} /> : <p role="status">This call no longer waits.</p>}
      <Button look="quiet" onClick={onClose}>
        Close
      </Button>
    </div>
  )
}

function ScopeChoice({
  value,
  onChange,
}: {
  readonly value: ApprovalScope
  readonly onChange: (scope: ApprovalScope) => void
}): ReactNode {
  return (
    <select
      className="quiet-select"
      aria-label="How far the approval reaches"
      value={value}
      onChange={(event) => onChange(event.target.value as ApprovalScope)}
    >
      <option value="ONCE">for this call only</option>
      <option value="RUN">for this tool until the run ends</option>
      <option value="AGENT">for this tool and agent, always</option>
    </select>
  )
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Refused(`This is not JSON: ${(error as Error).message}`)
  }
}
