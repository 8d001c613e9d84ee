import { useEffect, useRef, type ReactNode } from 'react'

import type { ToolCallFields, WaitingFields } from '../../client/documents.ts'
import type { ApprovalDecisionInput, ApprovalScope } from '../../client/schema-types.ts'
import { useClient } from '../../react/client-context.ts'
import { decide } from '../../client/decide.ts'
import { pretty } from '../data/format.ts'
import { jsonOf } from '../data/parse.ts'
import { Refused, useAction } from '../data/use-action.ts'
import { useFocusKept } from '../data/use-focus-kept.ts'
import { useKeptForm } from '../data/use-kept.ts'
import { ArgumentFields } from './argument-fields.tsx'
import { Arguments } from './arguments.tsx'
import { Button } from './button.tsx'
import { DecisionTaken } from './decision-taken.tsx'
import { Field } from './field.tsx'
import { Form } from './form.tsx'
import { Menu } from './menu.tsx'
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
  readonly held?: Held | undefined
}

/** A decision that is sent in five seconds, unless it is taken back or the page is left. */
export interface Held {
  readonly verb: 'approve' | 'deny'
  readonly onUndo: () => void
}

/** What a person can do with a waiting call: approve it, deny it, edit its arguments, or return its result. */
export function Decision({ call, waiting, mode, onMode, onWriting, onAct, held }: DecisionProps): ReactNode {
  const client = useClient()
  const { form, set, forget } = useKeptForm(`call.${call.id}`, {
    reason: '',
    text: pretty(call.arguments ?? call.argumentsText),
    output: '',
  })
  const { reason, text, output } = form
  const { id: toolCallId } = call

  const submit = useAction(async (decision: ApprovalDecisionInput) => {
    onAct?.()
    const result = await decide(client, call.run.id, [decision])
    // Who was faster is shown as soon as it has happened.
    if (result.__typename === 'SubmitApprovalsSuccess' || result.__typename === 'AlreadyDecidedRefusal') {
      forget()
      return onWriting(false)
    }
    if (result.__typename === 'InvalidArgumentsRefusal') {
      throw new Refused(result.problems.map(({ path, message }) => `${path || 'arguments'}: ${message}`).join('\n'))
    }
    throw new Refused(result.message)
  })
  const approve = (scope: ApprovalScope): void => submit.run({ approve: { toolCallId, scope } })
  const approveEdited = useAction(async () => {
    const edited = jsonOf(text, 'arguments')
    const isSame = JSON.stringify(edited) === JSON.stringify(call.arguments)
    submit.run({ approve: { toolCallId, ...(!isSame && { arguments: edited }) } })
  })
  const edit = (next: string): void => {
    set({ text: next })
    submit.clear()
    approveEdited.clear()
  }

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

  const isClient = call.needs === 'CLIENT_EXECUTION'
  const isWaiting = call.status === 'PENDING'
  const isEdit = mode === 'EDIT' && !isClient
  const schema = waiting?.tool?.parameters
  const denyButton = (
    <Button data-opens="DENY" isBusy={submit.isBusy} onClick={() => onMode('DENY')}>
      Deny
    </Button>
  )
  const back = (
    <Button look="quiet" onClick={close}>
      Back
    </Button>
  )
  return (
    <div
      ref={root}
      className="decision"
      onFocus={({ target }) => isField(target) && onWriting(true)}
      onInput={({ target }) => isField(target as Element) && onWriting(true)}
      onBlur={({ currentTarget, relatedTarget }) =>
        isWaiting && relatedTarget && !currentTarget.contains(relatedTarget) && onWriting(false)
      }
      onKeyDown={({ key }) => key === 'Escape' && mode !== 'CHOOSE' && close()}
    >
      {isWaiting && !isEdit && <Arguments value={call.arguments ?? call.argumentsText} schema={schema} />}
      {isWaiting ? <WhyItWaits call={call} waiting={waiting} /> : <NoLonger call={call} onClose={close} />}
      {held ? (
        <HeldDecision
          {...held}
          onSend={() => submit.run(held.verb === 'approve' ? { approve: { toolCallId } } : { deny: { toolCallId } })}
        />
      ) : mode === 'DENY' ? (
        <Form
          action={submit}
          onSubmit={() => submit.run({ deny: { toolCallId, reason: reason || null } })}
          submit="Deny with reason"
          look="danger"
          buttons={back}
        >
          <Field
            label="Reason"
            hint="The model reads it."
            value={reason}
            autoFocus
            onChange={(event) => set({ reason: event.target.value })}
          />
        </Form>
      ) : isEdit ? (
        <Form action={{ ...submit, problem }} onSubmit={approveEdited.run} submit="Approve edited" buttons={back}>
          <div className="edit-arguments">
            <div className="stack">
              <ArgumentFields text={text} schema={schema} onChange={edit} />
            </div>
            <Field
              label="Arguments"
              hint="As JSON"
              as="textarea"
              className="mono"
              rows={Math.min(14, text.split('\n').length + 1)}
              value={text}
              autoFocus
              spellCheck={false}
              problem={problem}
              onChange={(event) => edit(event.target.value)}
            />
          </div>
        </Form>
      ) : isClient ? (
        <Form
          action={submit}
          onSubmit={() => submit.run({ toolReturn: { toolCallId, status: 'SUCCESS', output } })}
          submit="Return result"
          buttons={
            <>
              <Button
                isBusy={submit.isBusy}
                onClick={() => submit.run({ toolReturn: { toolCallId, status: 'ERROR', output } })}
              >
                Return as error
              </Button>
              {denyButton}
            </>
          }
        >
          <Field
            label="Result"
            as="textarea"
            rows={3}
            value={output}
            onChange={(event) => set({ output: event.target.value })}
          />
        </Form>
      ) : (
        isWaiting && (
          <div className="row">
            <span className="split">
              <Button look="primary" icon="check" isBusy={submit.isBusy} onClick={() => approve('ONCE')}>
                Approve
              </Button>
              <Menu label="How far it reaches" look="primary" icon="down">
                <Button look="quiet" onClick={() => approve('RUN')}>
                  Approve this tool until the run ends
                </Button>
                <Button look="quiet" onClick={() => approve('AGENT')}>
                  Always approve this tool of this agent
                </Button>
              </Menu>
            </span>
            {denyButton}
            <Button data-opens="EDIT" isBusy={submit.isBusy} onClick={() => onMode('EDIT')}>
              Edit arguments
            </Button>
          </div>
        )
      )}
      {mode === 'CHOOSE' && !isClient && <Problem>{submit.problem}</Problem>}
    </div>
  )
}

const isField = (target: Element): boolean => target.matches('input, textarea, select')

/** Leaving the page sends nothing, also if the browser only puts the page aside. */
function HeldDecision({ verb, onUndo, onSend }: Held & { readonly onSend: () => void }): ReactNode {
  const latest = useRef({ onUndo, onSend })
  latest.current = { onUndo, onSend }
  useEffect(() => {
    const undo = (): void => latest.current.onUndo()
    const timer = setTimeout(() => {
      undo()
      latest.current.onSend()
    }, 5_000)
    addEventListener('pagehide', undo)
    return () => {
      clearTimeout(timer)
      removeEventListener('pagehide', undo)
    }
  }, [])
  return (
    <div className="row held">
      <p role="status">{verb === 'approve' ? 'Approved' : 'Denied'} in five seconds</p>
      <Button onClick={onUndo}>Undo</Button>
    </div>
  )
}

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
