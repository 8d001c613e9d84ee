import { useState, type ReactNode } from 'react'

import type { WebhookEvent } from '../../client/schema-types.ts'
import { useClient } from '../../react/client-context.ts'
import { bind } from '../data/bind.ts'
import { CreateWebhook, RotateWebhookSecret, UpdateWebhook, type WebhookRow } from '../data/documents.ts'
import { words } from '../data/format.ts'
import { Refused, useAction } from '../data/use-action.ts'
import { useKeptForm } from '../data/use-kept.ts'
import { Check } from './check.tsx'
import { Dialog } from './dialog.tsx'
import { SecretDialog } from './secret-dialog.tsx'
import { Field } from './field.tsx'
import { Form } from './form.tsx'

const events: readonly WebhookEvent[] = [
  ...(['APPROVAL_REQUESTED', 'APPROVAL_DECIDED', 'APPROVAL_EXPIRED', 'CLIENT_CALL_REQUESTED'] as const),
  ...(['RUN_ENDED', 'BUDGET_REACHED', 'SCHEDULE_FAILED'] as const),
]

interface WebhookSettingsForm {
  readonly url: string
  readonly events: readonly WebhookEvent[]
  readonly headers: string
  readonly enabled: boolean
}

interface WebhookFormProps {
  /** Undefined for a new webhook. */
  readonly webhook: WebhookRow | undefined
  readonly onClose: () => void
  readonly onSaved: () => Promise<void>
}

/** Creates or changes a webhook. The secret of a new one is shown once. */
export function WebhookForm({ webhook, onClose, onSaved }: WebhookFormProps): ReactNode {
  const client = useClient()
  const kept = useKeptForm<WebhookSettingsForm>(`webhook.${webhook?.id ?? 'new'}`, {
    url: webhook?.url ?? '',
    events: webhook?.events ?? ['APPROVAL_REQUESTED'],
    headers: '',
    enabled: webhook?.enabled ?? true,
  })
  const [secret, setSecret] = useState<string>()
  const { url, events: chosen, enabled } = kept.form
  const save = useAction(async () => {
    const headers = headersIn(kept.form.headers)
    const input = { url, events: chosen, ...(headers && { headers }) }
    if (webhook) await client.request(UpdateWebhook, { input: { id: webhook.id, ...input, enabled } })
    const made = webhook ? undefined : await client.request(CreateWebhook, { input })
    kept.forget()
    await onSaved()
    if (made?.createWebhook?.secret) setSecret(made.createWebhook.secret)
    else onClose()
  })
  const { text, check } = bind({ ...kept, problemOf: save.problemOf })
  if (secret !== undefined) return <WebhookSecret secret={secret} onClose={onClose} />
  const stored = webhook?.headerNames.join(', ') ?? ''
  return (
    <Dialog title={webhook ? 'Edit webhook' : 'New webhook'} isHeld={save.isBusy} onClose={onClose}>
      <Form action={save} onSubmit={save.run} submit={webhook ? 'Save' : 'Create webhook'} kept={kept}>
        <Field label="Address" type="url" required placeholder="https://example.com/holdpoint" {...text('url')} />
        <fieldset className="stack">
          <legend className="label">Events</legend>
          {events.map((event) => (
            <Check
              key={event}
              label={words(event)}
              checked={chosen.includes(event)}
              onChange={({ target }) => {
                const others = chosen.filter((one) => one !== event)
                kept.set({ events: target.checked ? [...others, event] : others })
              }}
            />
          ))}
          {save.problemOf('events') && <p role="alert">{save.problemOf('events')}</p>}
        </fieldset>
        <Field
          label="Headers"
          as="textarea"
          rows={2}
          placeholder="authorization: Bearer …"
          hint={`One per line, sent with every delivery. ${stored === '' ? 'They are stored as secrets.' : `Stored: ${stored}. Leave it empty to keep them.`}`}
          {...text('headers')}
        />
        {webhook && <Check label="Enabled" hint="Events are recorded and sent." {...check('enabled')} />}
      </Form>
    </Dialog>
  )
}

function headersIn(text: string): Record<string, string> | undefined {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  if (lines.length === 0) return undefined
  return Object.fromEntries(
    lines.map((line) => {
      const [, name, value] = /^\s*([^:\s]+)\s*:\s*(.*?)\s*$/.exec(line) ?? []
      if (name === undefined) throw new Refused(`"${line}" is not a header. Expected name: value.`)
      return [name, value!]
    }),
  )
}

/** Replaces the secret after a question, and shows the new one. */
export function RotateSecret({ webhook, onClose }: Pick<WebhookFormProps, 'onClose'> & { webhook: WebhookRow }) {
  const client = useClient()
  const [secret, setSecret] = useState<string>()
  const rotate = useAction(async () => {
    const made = await client.request(RotateWebhookSecret, { input: { id: webhook.id } })
    setSecret(made.rotateWebhookSecret!.secret)
  })
  if (secret !== undefined) return <WebhookSecret secret={secret} onClose={onClose} />
  return (
    <Dialog title="Rotate the secret?" onClose={onClose}>
      <Form action={rotate} onSubmit={rotate.run} submit="Rotate">
        <p>For a day, deliveries are signed with the old secret too, so that the receiver can change over.</p>
      </Form>
    </Dialog>
  )
}

function WebhookSecret({ secret, onClose }: { readonly secret: string; readonly onClose: () => void }): ReactNode {
  return (
    <SecretDialog title="The secret" secret={secret} copy="Copy secret" onClose={onClose}>
      The receiver verifies deliveries with it. Copy it now: it cannot be shown again.
    </SecretDialog>
  )
}
