import { useState, type ReactNode } from 'react'
import { Link } from 'wouter'

import type { WebhookDeliveryStatus } from '../../client/schema-types.ts'
import { useClient } from '../../react/client-context.ts'
import {
  DeleteWebhook,
  Deliveries,
  ResendDelivery,
  TestWebhook,
  Webhooks,
  type DeliveryRow,
  type WebhookRow,
} from '../data/documents.ts'
import { words } from '../data/format.ts'
import { useAction } from '../data/use-action.ts'
import { useEdited } from '../data/use-edited.ts'
import { usePages } from '../data/use-pages.ts'
import { Button } from '../parts/button.tsx'
import { Confirm } from '../parts/confirm.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Empty } from '../parts/empty.tsx'
import { Field } from '../parts/field.tsx'
import { JsonView } from '../parts/json-view.tsx'
import { Loading } from '../parts/loading.tsx'
import { Page } from '../parts/page.tsx'
import { Problem } from '../parts/problem.tsx'
import { ShowMore } from '../parts/show-more.tsx'
import { Status } from '../parts/status.tsx'
import { Table } from '../parts/table.tsx'
import { Ago, Until } from '../parts/time.tsx'
import { RotateSecret, WebhookForm } from '../parts/webhook-form.tsx'

export function WebhooksPage(): ReactNode {
  const pages = usePages(Webhooks, { first: 100 }, ({ webhooks }) => webhooks)
  const [edited, setEdited] = useEdited<WebhookRow>()
  const webhooks = pages.nodes
  return (
    <Page
      title="Webhooks"
      lead="Addresses that are told what happens: what waits for approval, what was decided, which run has ended."
      actions={
        <Button look="primary" icon="plus" onClick={() => setEdited('new')}>
          New webhook
        </Button>
      }
    >
      <Loading of={pages} data={webhooks} lines={4} />
      {webhooks && (
        <Table
          label="Webhooks"
          className="stacked"
          rows={webhooks}
          columns={[
            {
              head: 'Address',
              className: 'mono cut',
              cell: ({ id, url }) => <Link href={`/webhooks/${id}`}>{url}</Link>,
            },
            { head: 'Events', cell: ({ events }) => events.map(words).join(', ') },
            { head: 'Agents', className: 'short', cell: ({ agentIds }) => agentIds?.length ?? 'all' },
            { head: 'State', cell: (webhook) => <WebhookState of={webhook} /> },
          ]}
          empty={
            <Empty icon="webhooks" title="There are no webhooks">
              <p>
                Create one to hear of approvals in your chat or mail program. See <a href="/docs/webhooks">the docs</a>.
              </p>
            </Empty>
          }
        />
      )}
      <ShowMore of={pages} />
      {edited && (
        <WebhookForm
          webhook={edited === 'new' ? undefined : edited}
          onClose={() => setEdited(undefined)}
          onSaved={pages.reload}
        />
      )}
    </Page>
  )
}

function WebhookState({ of: { enabled, lastError } }: { readonly of: WebhookRow }): ReactNode {
  if (!enabled) return <span className="status quiet">Disabled</span>
  if (lastError === null) return <span className="status good">Enabled</span>
  return (
    <span className="status bad" title={lastError}>
      Failing
    </span>
  )
}

const statuses: readonly WebhookDeliveryStatus[] = ['PENDING', 'DELIVERED', 'DEAD']

/** One webhook with its deliveries. */
export function WebhookPage({ id }: { readonly id: string }): ReactNode {
  const client = useClient()
  const [status, setStatus] = useState<WebhookDeliveryStatus | ''>('')
  const [webhook, setWebhook] = useState<WebhookRow | null>()
  const [open, setOpen] = useState<'edit' | 'rotate' | 'delete'>()
  const [shown, setShown] = useState<DeliveryRow>()
  const pages = usePages(Deliveries, { id, first: 50, ...(status && { status }) }, (data) => {
    setWebhook(data.webhook)
    return data.webhook?.deliveries ?? nothing
  })
  const test = useAction(async () => {
    const { testWebhook } = await client.request(TestWebhook, { input: { id } })
    setShown(testWebhook!.delivery)
    await pages.reload()
  })
  const resend = useAction(async (deliveryId: string) => {
    await client.request(ResendDelivery, { input: { deliveryId } })
    await pages.reload()
  })
  const close = (): void => setOpen(undefined)
  const deliveries = pages.nodes
  if (webhook === null) return <Page title="Webhook">There is no such webhook. It may have been deleted.</Page>
  return (
    <Page
      title="Webhook"
      lead={<span className="mono">{webhook?.url}</span>}
      actions={
        <>
          <Button isBusy={test.isBusy} onClick={test.run}>
            Test
          </Button>
          <Button onClick={() => setOpen('edit')}>Edit</Button>
          <Button onClick={() => setOpen('rotate')}>Rotate secret</Button>
          <Button look="danger" onClick={() => setOpen('delete')}>
            Delete
          </Button>
        </>
      }
    >
      {webhook && (
        <p className="row">
          <WebhookState of={webhook} /> <span>{webhook.events.map(words).join(', ')}</span>
        </p>
      )}
      <Problem>{webhook?.lastError ?? undefined}</Problem>
      <Problem>{test.problem ?? resend.problem}</Problem>
      <div className="filters">
        <Field
          label="Deliveries"
          as="select"
          value={status}
          onChange={(event) => setStatus(event.target.value as WebhookDeliveryStatus | '')}
        >
          <option value="">All</option>
          {statuses.map((one) => (
            <option key={one} value={one}>
              {words(one)}
            </option>
          ))}
        </Field>
        <Button icon="again" isBusy={pages.isLoading} onClick={() => void pages.reload()}>
          Refresh
        </Button>
      </div>
      <Loading of={pages} data={deliveries} lines={6} />
      {deliveries && (
        <Table
          label="Deliveries"
          className="stacked"
          rows={deliveries}
          onOpen={setShown}
          columns={[
            { head: 'Event', cell: ({ event }) => words(event) },
            { head: 'Status', cell: (delivery) => <Status value={delivery.status} /> },
            { head: 'Happened', cell: ({ createdAt }) => <Ago at={createdAt} /> },
            { head: 'Attempts', className: 'short', cell: ({ attempts }) => attempts },
            { head: 'Response', className: 'cut', cell: (delivery) => responseOf(delivery) },
            {
              head: '',
              cell: (delivery) => (
                <div className="row end nowrap">
                  <Button look="quiet" onClick={() => setShown(delivery)}>
                    Show
                  </Button>
                  {delivery.status !== 'PENDING' && (
                    <Button look="quiet" onClick={() => resend.run(delivery.id)}>
                      Resend
                    </Button>
                  )}
                </div>
              ),
            },
          ]}
          empty={<Empty icon="webhooks" title="There are no deliveries" />}
        />
      )}
      <ShowMore of={pages} />
      {shown && <Delivery of={shown} onClose={() => setShown(undefined)} />}
      {webhook && open === 'edit' && <WebhookForm webhook={webhook} onClose={close} onSaved={pages.reload} />}
      {webhook && open === 'rotate' && <RotateSecret webhook={webhook} onClose={close} />}
      {webhook && open === 'delete' && (
        <Confirm
          title="Delete this webhook?"
          verb="Delete"
          act={async () => {
            await client.request(DeleteWebhook, { input: { id } })
            await pages.reload()
          }}
          onClose={close}
        >
          Its deliveries are deleted too, and it is told nothing more.
        </Confirm>
      )}
    </Page>
  )
}

const nothing = { nodes: [], pageInfo: { hasNextPage: false, endCursor: null } }

function responseOf({ status, error, responseStatus, nextAttemptAt }: DeliveryRow): ReactNode {
  if (status === 'PENDING' && nextAttemptAt !== null && error !== null) {
    return (
      <span title={error}>
        {responseStatus ?? 'no answer'}, again <Until at={nextAttemptAt} />
      </span>
    )
  }
  return <span title={error ?? undefined}>{error ?? responseStatus ?? ''}</span>
}

function Delivery({ of, onClose }: { readonly of: DeliveryRow; readonly onClose: () => void }): ReactNode {
  const { id, event, status, error, attempts, payload } = of
  return (
    <Dialog title={words(event)} onClose={onClose}>
      <div className="stack">
        <p className="row">
          <Status value={status} />{' '}
          <span className="quiet">{attempts === 1 ? '1 attempt' : `${attempts} attempts`}</span>
        </p>
        <Problem>{error ?? undefined}</Problem>
        <p className="mono quiet">{id}</p>
        <JsonView value={payload} />
      </div>
    </Dialog>
  )
}
