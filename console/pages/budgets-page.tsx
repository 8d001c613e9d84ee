import { useState, type ReactNode } from 'react'

import { useClient } from '../../react/client-context.ts'
import { Budgets, DeleteBudget, type BudgetsData } from '../data/documents.ts'
import { cost, count, words } from '../data/format.ts'
import { useEdited } from '../data/use-edited.ts'
import { useQuery } from '../data/use-query.ts'
import { BudgetForm } from '../parts/budget-form.tsx'
import { Button } from '../parts/button.tsx'
import { Confirm } from '../parts/confirm.tsx'
import { Empty } from '../parts/empty.tsx'
import { Loading } from '../parts/loading.tsx'
import { Page } from '../parts/page.tsx'
import { Table } from '../parts/table.tsx'
import { Until } from '../parts/time.tsx'

export type BudgetRow = BudgetsData['budgets'][number]

export function BudgetsPage(): ReactNode {
  const client = useClient()
  const budgets = useQuery(Budgets, {})
  const [edited, setEdited] = useEdited<BudgetRow>()
  const [going, setGoing] = useState<BudgetRow>()
  return (
    <Page
      title="Budgets"
      lead="What agents, people or everybody may spend. Checked before every request to a model."
      actions={
        <Button look="primary" icon="plus" onClick={() => setEdited('new')}>
          New budget
        </Button>
      }
    >
      <Loading of={budgets} data={budgets.data} lines={4} />
      {budgets.data && (
        <Table
          label="Budgets"
          rows={budgets.data.budgets}
          onOpen={setEdited}
          columns={[
            { head: 'For', className: 'name', cell: whose },
            { head: 'Period', cell: ({ period }) => words(period) },
            { head: 'Spent', cell: (budget) => <Spent budget={budget} /> },
            {
              head: 'When used up',
              cell: ({ whenReached }) => (whenReached === 'STOP' ? 'Runs stop' : 'Runs wait for a person'),
            },
            { head: 'Resets', cell: ({ resetsAt }) => (resetsAt ? <Until at={resetsAt} /> : 'never') },
            {
              head: '',
              cell: (budget) => (
                <div className="row end nowrap">
                  <Button look="quiet" onClick={() => setEdited(budget)}>
                    Edit
                  </Button>
                  <Button look="quiet" onClick={() => setGoing(budget)}>
                    Delete
                  </Button>
                </div>
              ),
            },
          ]}
          empty={
            <Empty icon="budget" title="There are no budgets yet">
              <p>Without one, agents may spend as much as their models take.</p>
            </Empty>
          }
        />
      )}
      {edited && (
        <BudgetForm
          budget={edited === 'new' ? undefined : edited}
          onClose={() => setEdited(undefined)}
          onSaved={budgets.refetch}
        />
      )}
      {going && (
        <Confirm
          title="Delete this budget?"
          verb="Delete budget"
          act={async () => {
            await client.request(DeleteBudget, { input: { id: going.id } })
            await budgets.refetch()
          }}
          onClose={() => setGoing(undefined)}
        >
          Runs that wait for it go on, and nothing limits what they spend.
        </Confirm>
      )}
    </Page>
  )
}

function whose({ agent, actorId }: BudgetRow): ReactNode {
  return agent?.name ?? actorId ?? 'Everybody'
}

/** One line for each limit, with a bar. */
function Spent({ budget }: { readonly budget: BudgetRow }): ReactNode {
  const { limitUsd, limitTokens, spentUsd, spentTokens, unpricedModels } = budget
  return (
    <>
      {limitUsd !== null && (
        <Share spent={spentUsd} limit={limitUsd} words={`${cost(spentUsd)} of ${cost(limitUsd)}`} />
      )}
      {limitTokens !== null && (
        <Share
          spent={spentTokens}
          limit={limitTokens}
          words={`${count(spentTokens)} of ${count(limitTokens)} tokens`}
        />
      )}
      {limitUsd !== null && unpricedModels.length > 0 && (
        <p className="hint">Without {unpricedModels.join(', ')}: the price is not known.</p>
      )}
    </>
  )
}

function Share({ spent, limit, words: label }: { spent: number; limit: number; words: string }): ReactNode {
  return (
    <div className="share">
      <span className={spent >= limit ? 'field-problem' : undefined}>{label}</span>
      <meter value={limit === 0 ? 1 : Math.min(spent / limit, 1)} aria-label={label} />
    </div>
  )
}
