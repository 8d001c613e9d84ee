import type { ReactNode } from 'react'

import type { BudgetPeriod, WhenBudgetReached } from '../../client/schema-types.ts'
import { useClient } from '../../react/client-context.ts'
import { bind } from '../data/bind.ts'
import { AgentNames, CreateBudget, UpdateBudget } from '../data/documents.ts'
import { useAction } from '../data/use-action.ts'
import { useKeptForm } from '../data/use-kept.ts'
import { useQuery } from '../data/use-query.ts'
import type { BudgetRow } from '../pages/budgets-page.tsx'
import { Dialog } from './dialog.tsx'
import { Field } from './field.tsx'
import { Form } from './form.tsx'

interface BudgetFormProps {
  /** Undefined for a new budget. */
  readonly budget: BudgetRow | undefined
  readonly onClose: () => void
  readonly onSaved: () => Promise<void>
}

interface BudgetFormFields {
  /** `everybody`, `actor` or the id of an agent. */
  readonly whose: string
  readonly actorId: string
  readonly period: BudgetPeriod
  readonly limitUsd: string
  readonly limitTokens: string
  readonly whenReached: WhenBudgetReached
}

const numberOf = (text: string): number | null => (text.trim() === '' ? null : Number(text))

/** Creates or changes a budget. For whom and which period it is cannot be changed. */
export function BudgetForm({ budget, onClose, onSaved }: BudgetFormProps): ReactNode {
  const client = useClient()
  const agents = useQuery(AgentNames, {})
  const kept = useKeptForm<BudgetFormFields>(`budget.${budget?.id ?? 'new'}`, {
    whose: 'everybody',
    actorId: '',
    period: 'MONTH',
    limitUsd: budget?.limitUsd?.toString() ?? '',
    limitTokens: budget?.limitTokens?.toString() ?? '',
    whenReached: budget?.whenReached ?? 'STOP',
  })
  const { form } = kept
  const save = useAction(async () => {
    const limits = {
      limitUsd: numberOf(form.limitUsd),
      limitTokens: numberOf(form.limitTokens),
      whenReached: form.whenReached,
    }
    if (budget) await client.request(UpdateBudget, { input: { id: budget.id, ...limits } })
    else {
      const agentId = form.whose.startsWith('agent_') ? form.whose : null
      const actorId = form.whose === 'actor' ? form.actorId : null
      const input = { agentId, actorId, period: form.period, ...limits }
      await client.request(CreateBudget, { input })
    }
    kept.forget()
    await onSaved()
    onClose()
  })
  const { text } = bind({ ...kept, problemOf: save.problemOf })
  return (
    <Dialog title={budget ? 'Edit budget' : 'New budget'} onClose={onClose}>
      <Form action={save} onSubmit={save.run} submit={budget ? 'Save budget' : 'Create budget'} kept={kept}>
        {!budget && (
          <>
            <Field label="For" as="select" {...text('whose', 'agentId')}>
              <option value="everybody">Everybody</option>
              <option value="actor">One person or key</option>
              {agents.data?.agents.nodes.map(({ id, name }) => (
                <option key={id} value={id}>
                  Agent {name}
                </option>
              ))}
            </Field>
            {form.whose === 'actor' && (
              <Field
                label="Person or key"
                required
                className="mono"
                hint="Id of the person, as in their token, or of the API key (key_…)."
                {...text('actorId')}
              />
            )}
            <Field label="Period" as="select" {...text('period')}>
              <option value="DAY">Each day</option>
              <option value="MONTH">Each month</option>
              <option value="TOTAL">In total, from now on</option>
            </Field>
          </>
        )}
        <Field label="Dollars" type="number" min="0" step="any" hint="Empty: no limit." {...text('limitUsd')} />
        <Field label="Tokens" type="number" min="0" step="1" hint="Empty: no limit." {...text('limitTokens')} />
        <Field label="When it is used up" as="select" {...text('whenReached')}>
          <option value="STOP">Runs stop before their next model request</option>
          <option value="ASK">Runs wait until a person allows more</option>
        </Field>
      </Form>
    </Dialog>
  )
}
