import { useState, type ReactNode } from 'react'

import { useClient } from '../../react/client-context.ts'
import { bind } from '../data/bind.ts'
import { AddMcpServer, McpServers, RefreshMcpServer, RemoveMcpServer, type McpServersData } from '../data/documents.ts'
import { jsonOf } from '../data/parse.ts'
import { useAction } from '../data/use-action.ts'
import { useKeptForm } from '../data/use-kept.ts'
import { useQuery } from '../data/use-query.ts'
import { Button } from './button.tsx'
import { Confirm } from './confirm.tsx'
import { Dialog } from './dialog.tsx'
import { Field } from './field.tsx'
import { Form } from './form.tsx'
import { Loading } from './loading.tsx'
import { Problem } from './problem.tsx'
import { Table } from './table.tsx'

type Server = McpServersData['mcpServers']['nodes'][number]

/** The MCP servers, whether they could be reached, and how many tools they offer. */
export function McpServerList({ onChanged }: { readonly onChanged: () => void }): ReactNode {
  const client = useClient()
  const { data, error, refetch } = useQuery(McpServers, {})
  const [isNew, setNew] = useState(false)
  const [going, setGoing] = useState<Server>()
  const changed = async (): Promise<void> => {
    await refetch()
    onChanged()
  }
  const remove = async ({ id }: Server): Promise<void> => {
    await client.request(RemoveMcpServer, { input: { id } })
    await changed()
  }
  const again = useAction(async (id: string) => {
    await client.request(RefreshMcpServer, { input: { id } })
    await changed()
  })
  const servers = data?.mcpServers.nodes
  return (
    <section aria-labelledby="mcp">
      <header className="page-head">
        <h2 id="mcp">MCP servers</h2>
        <Button icon="plus" onClick={() => setNew(true)}>
          Add MCP server
        </Button>
      </header>
      <Loading of={{ error }} data={data} />
      <Problem>{again.problem}</Problem>
      {servers?.length === 0 && (
        <p className="quiet">None. A Model Context Protocol server brings its tools with it.</p>
      )}
      {servers && servers.length > 0 && (
        <Table
          label="MCP servers"
          rows={servers}
          columns={[
            { head: 'Name', cell: ({ name }) => name },
            { head: 'Address', className: 'cut mono', cell: ({ url }) => url },
            { head: 'Tools', className: 'number', cell: ({ tools }) => tools.length },
            {
              head: 'State',
              cell: ({ lastError }) =>
                lastError ? (
                  <span className="field-problem">{lastError}</span>
                ) : (
                  <span className="status good">Reached</span>
                ),
            },
            {
              head: '',
              cell: (server) => (
                <div className="row end nowrap">
                  <Button look="quiet" isBusy={again.isBusy} onClick={() => again.run(server.id)}>
                    Refresh
                  </Button>
                  <Button look="quiet" onClick={() => setGoing(server)}>
                    Remove
                  </Button>
                </div>
              ),
            },
          ]}
        />
      )}
      {isNew && (
        <NewServer
          onClose={() => setNew(false)}
          onAdded={async () => {
            await changed()
            setNew(false)
          }}
        />
      )}
      {going && (
        <Confirm
          key={going.id}
          title={`Remove ${going.name}?`}
          verb="Remove"
          act={() => remove(going)}
          onClose={() => setGoing(undefined)}
        >
          Its tools are taken away from every agent that has them.
        </Confirm>
      )}
    </section>
  )
}

function NewServer({
  onClose,
  onAdded,
}: {
  readonly onClose: () => void
  readonly onAdded: () => Promise<void>
}): ReactNode {
  const client = useClient()
  const kept = useKeptForm('mcp.new', { name: '', url: '', headers: '' })
  const add = useAction(async () => {
    const { name, url, headers } = kept.form
    await client.request(AddMcpServer, { input: { name, url, headers: jsonOf(headers, 'headers') } })
    await onAdded()
    kept.forget()
  })
  const { text } = bind({ ...kept, problemOf: add.problemOf })
  return (
    <Dialog title="Add an MCP server" onClose={onClose}>
      <Form action={add} onSubmit={add.run} submit="Add server" kept={kept}>
        <Field label="Name" autoFocus {...text('name')} />
        <Field label="Address" type="url" placeholder="https://…" {...text('url')} />
        <Field
          label="Headers"
          as="textarea"
          className="mono"
          rows={3}
          hint="A JSON object of strings, such as an Authorization header. They cannot be read again."
          {...text('headers')}
        />
      </Form>
    </Dialog>
  )
}
