import type { ReactNode } from 'react'

import { useClient } from '../../react/client-context.ts'
import { bind } from '../data/bind.ts'
import { AgentNames, CreateSchedule, UpdateSchedule } from '../data/documents.ts'
import { useAction } from '../data/use-action.ts'
import { useKeptForm } from '../data/use-kept.ts'
import { useQuery } from '../data/use-query.ts'
import type { ScheduleRow } from '../pages/schedules-page.tsx'
import { Dialog } from './dialog.tsx'
import { Field } from './field.tsx'
import { Form } from './form.tsx'

interface ScheduleFormProps {
  /** Undefined for a new schedule. */
  readonly schedule: ScheduleRow | undefined
  readonly onClose: () => void
  readonly onSaved: () => Promise<void>
}

/** Creates or changes a schedule. */
export function ScheduleForm({ schedule, onClose, onSaved }: ScheduleFormProps): ReactNode {
  const client = useClient()
  const agents = useQuery(AgentNames, {})
  const kept = useKeptForm(`schedule.${schedule?.id ?? 'new'}`, {
    name: schedule?.name ?? '',
    agentId: schedule?.agent.id ?? '',
    repeats: schedule?.cron === null ? 'once' : 'cron',
    cron: schedule?.cron ?? '0 8 * * MON-FRI',
    at: schedule?.at ? localTime(schedule.at) : '',
    timezone: schedule?.timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
    missed: schedule?.missed ?? 'SKIP',
    message: schedule?.messages.map(({ text }) => text).join('\n\n') ?? '',
  })
  const { form } = kept
  const save = useAction(async () => {
    const times =
      form.repeats === 'cron' ? { cron: form.cron } : { at: form.at === '' ? null : new Date(form.at).toISOString() }
    const messages = [{ text: form.message }]
    const input = {
      name: form.name,
      timezone: form.timezone,
      missed: form.missed,
      messages,
      ...times,
    }
    if (schedule) await client.request(UpdateSchedule, { input: { id: schedule.id, ...input } })
    else await client.request(CreateSchedule, { input: { agentId: form.agentId, ...input } })
    kept.forget()
    await onSaved()
    onClose()
  })
  const { text } = bind({ ...kept, problemOf: save.problemOf })
  return (
    <Dialog title={schedule ? `Edit ${schedule.name}` : 'New schedule'} onClose={onClose}>
      <Form action={save} onSubmit={save.run} submit={schedule ? 'Save schedule' : 'Create schedule'} kept={kept}>
        <Field label="Name" required {...text('name')} />
        {!schedule && (
          <Field label="Agent" as="select" required {...text('agentId')}>
            <option value="">Choose an agent</option>
            {agents.data?.agents.nodes.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </Field>
        )}
        <Field label="Message" as="textarea" rows={3} required {...text('message', 'messages')} />
        <Field label="Repeats" as="select" {...text('repeats')}>
          <option value="cron">At the times of a cron expression</option>
          <option value="once">Once</option>
        </Field>
        {form.repeats === 'cron' ? (
          <>
            <Field
              label="Cron"
              className="mono"
              hint="Minute, hour, day of month, month, day of week: 30 8 * * MON-FRI is 8:30 on weekdays."
              {...text('cron')}
            />
            <Field label="Time zone" {...text('timezone')} />
          </>
        ) : (
          <Field label="At" type="datetime-local" {...text('at')} />
        )}
        <Field label="If the server was not running" as="select" {...text('missed')}>
          <option value="SKIP">Skip the missed times</option>
          <option value="ONCE">One run for all that were missed</option>
        </Field>
      </Form>
    </Dialog>
  )
}

/** As an input of the browser's own time zone wants it. */
function localTime(at: string): string {
  const date = new Date(at)
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}
