import { useState, type ReactNode } from 'react'
import { Link } from 'wouter'

import { useClient } from '../../react/client-context.ts'
import { DeleteSchedule, Schedules, TriggerSchedule, UpdateSchedule, type SchedulesData } from '../data/documents.ts'
import { useAction } from '../data/use-action.ts'
import { useEdited } from '../data/use-edited.ts'
import { usePages } from '../data/use-pages.ts'
import { Button } from '../parts/button.tsx'
import { Confirm } from '../parts/confirm.tsx'
import { Empty } from '../parts/empty.tsx'
import { Loading } from '../parts/loading.tsx'
import { Page } from '../parts/page.tsx'
import { Problem } from '../parts/problem.tsx'
import { ScheduleForm } from '../parts/schedule-form.tsx'
import { ShowMore } from '../parts/show-more.tsx'
import { Status } from '../parts/status.tsx'
import { Table } from '../parts/table.tsx'
import { Ago, Until } from '../parts/time.tsx'

export type ScheduleRow = SchedulesData['schedules']['nodes'][number]

export function SchedulesPage(): ReactNode {
  const client = useClient()
  const pages = usePages(Schedules, { first: 50 }, ({ schedules }) => schedules)
  const [edited, setEdited] = useEdited<ScheduleRow>()
  const [going, setGoing] = useState<ScheduleRow>()
  const change = useAction(async (request: () => Promise<unknown>) => {
    await request()
    await pages.reload()
  })
  return (
    <Page
      title="Schedules"
      lead="Messages that agents get at certain times."
      actions={
        <Button look="primary" icon="plus" onClick={() => setEdited('new')}>
          New schedule
        </Button>
      }
    >
      <Problem>{change.problem}</Problem>
      <Loading of={pages} data={pages.nodes} lines={4} />
      {pages.nodes && (
        <Table
          label="Schedules"
          rows={pages.nodes}
          onOpen={setEdited}
          columns={[
            { head: 'Name', className: 'name', cell: ({ name }) => <span title={name}>{name}</span> },
            { head: 'Agent', cell: ({ agent }) => <Link href={`/agents/${agent.id}`}>{agent.name}</Link> },
            { head: 'When', cell: ({ cron, timezone }) => (cron ? `${cron} (${timezone})` : 'once') },
            { head: 'Next', cell: ({ enabled, nextTimes: [next] }) => nextTime(enabled, next) },
            { head: 'Last run', cell: ({ lastError, runs }) => lastRun(lastError, runs.nodes[0]) },
            {
              head: '',
              cell: (schedule) => (
                <div className="row end nowrap">
                  <Button
                    look="quiet"
                    onClick={() => change.run(() => client.request(TriggerSchedule, { input: { id: schedule.id } }))}
                  >
                    Run now
                  </Button>
                  <Button
                    look="quiet"
                    onClick={() => {
                      const input = { id: schedule.id, enabled: !schedule.enabled }
                      change.run(() => client.request(UpdateSchedule, { input }))
                    }}
                  >
                    {schedule.enabled ? 'Pause' : 'Resume'}
                  </Button>
                  <Button look="quiet" onClick={() => setEdited(schedule)}>
                    Edit
                  </Button>
                  <Button look="quiet" onClick={() => setGoing(schedule)}>
                    Delete
                  </Button>
                </div>
              ),
            },
          ]}
          empty={
            <Empty icon="clock" title="There are no schedules yet">
              <p>A schedule sends messages to an agent every morning, every five minutes, or once.</p>
            </Empty>
          }
        />
      )}
      <ShowMore of={pages} />
      {edited && (
        <ScheduleForm
          schedule={edited === 'new' ? undefined : edited}
          onClose={() => setEdited(undefined)}
          onSaved={pages.reload}
        />
      )}
      {going && (
        <Confirm
          title={`Delete ${going.name}?`}
          verb="Delete schedule"
          act={async () => {
            await client.request(DeleteSchedule, { input: { id: going.id } })
            await pages.reload()
          }}
          onClose={() => setGoing(undefined)}
        >
          It makes no more runs. The runs that it made stay.
        </Confirm>
      )}
    </Page>
  )
}

function nextTime(enabled: boolean, next: string | undefined): ReactNode {
  if (next !== undefined) return <Until at={next} />
  return <span className="quiet">{enabled ? 'over' : 'paused'}</span>
}

function lastRun(lastError: string | null, run: ScheduleRow['runs']['nodes'][number] | undefined): ReactNode {
  if (lastError !== null) return <span className="field-problem">{lastError}</span>
  if (!run) return <span className="quiet">none yet</span>
  return (
    <Link href={`/runs/${run.id}`}>
      <Status value={run.status} /> <Ago at={run.createdAt} />
    </Link>
  )
}
