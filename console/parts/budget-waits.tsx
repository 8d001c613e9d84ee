import { useEffect, type ReactNode } from 'react'
import { Link } from 'wouter'

import { keepSubscribed } from '../../client/keep-subscribed.ts'
import { CancelRun } from '../../client/documents.ts'
import { useClient } from '../../react/client-context.ts'
import { bind } from '../data/bind.ts'
import { BudgetWaits, ContinueRun, RunChanges, type BudgetWaitsData } from '../data/documents.ts'
import { cost, count } from '../data/format.ts'
import { Refused, useAction } from '../data/use-action.ts'
import { useKeptForm } from '../data/use-kept.ts'
import { useQuery, type Query } from '../data/use-query.ts'
import { Button } from './button.tsx'
import { Field } from './field.tsx'
import { Form } from './form.tsx'
import { Ago } from './time.tsx'

type Wait = BudgetWaitsData['runs']['nodes'][number]

/** Runs that wait for a budget, live. */
export function useBudgetWaits(): Query<BudgetWaitsData> {
  const client = useClient()
  const waits = useQuery(BudgetWaits, {})
  useEffect(() => {
    let since = new Date().toISOString()
    return keepSubscribed(client, {
      document: RunChanges,
      variables: () => ({ since, agentIds: null }),
      next({ runChanges: run }) {
        since = run.updatedAt
        if (run.status !== 'QUEUED') void waits.refetch()
      },
      refused: () => {},
    })
  }, [client])
  return waits
}

export function BudgetWaitList({ waits }: { readonly waits: Query<BudgetWaitsData> }): ReactNode {
  const runs = waits.data?.runs.nodes ?? []
  if (runs.length === 0) return null
  return (
    <section aria-labelledby="budget-waits">
      <h2 id="budget-waits">Budget used up</h2>
      <ul className="inbox" aria-label="Waiting for a budget">
        {runs.map((run) => (
          <BudgetWait key={run.id} run={run} onDone={waits.refetch} />
        ))}
      </ul>
    </section>
  )
}

function BudgetWait({ run, onDone }: { readonly run: Wait; readonly onDone: () => Promise<void> }): ReactNode {
  const client = useClient()
  const kept = useKeptForm(`budget-wait.${run.id}`, { allowUsd: '', allowTokens: '' })
  const { form } = kept
  const amount = (text: string): number | null => (text.trim() === '' ? null : Number(text))
  const proceed = useAction(async () => {
    const input = { runId: run.id, allowUsd: amount(form.allowUsd), allowTokens: amount(form.allowTokens) }
    const { continueRun } = await client.request(ContinueRun, { input })
    if (continueRun && 'message' in continueRun) throw new Refused(continueRun.message)
    kept.forget()
    await onDone()
  })
  const cancel = useAction(async () => {
    await client.request(CancelRun, { input: { runId: run.id } })
    await onDone()
  })
  const { text } = bind({ ...kept, problemOf: proceed.problemOf })
  const { usage, agent, conversation } = run
  return (
    <li className="inbox-item">
      <header>
        <h3>{agent.name}</h3>
        <span className="quiet">
          <Ago at={run.updatedAt} />
        </span>
      </header>
      <p className="quiet">
        In <Link href={`/conversations/${conversation.id}`}>{conversation.title ?? 'its conversation'}</Link>.{' '}
        <Link href={`/runs/${run.id}`}>The run</Link> has used {count(usage.totalTokens)} tokens
        {usage.costUsd !== null && ` (${cost(usage.costUsd)})`}. How much more may it use?
      </p>
      <Form
        action={{ ...proceed, problem: proceed.problem ?? cancel.problem }}
        onSubmit={proceed.run}
        submit="Continue"
        buttons={
          <Button look="danger" isBusy={cancel.isBusy} onClick={() => cancel.run()}>
            Cancel
          </Button>
        }
      >
        <div className="filters">
          <Field label="Dollars" type="number" min="0" step="any" {...text('allowUsd')} />
          <Field label="Tokens" type="number" min="0" step="1" {...text('allowTokens')} />
        </div>
      </Form>
    </li>
  )
}
