import { useState, type ReactNode } from 'react'

import { useClient } from '../../react/client-context.ts'
import { AddMcpServer, McpServers, RefreshMcpServer, RemoveMcpServer } from '../data/documents.ts'
import { jsonOf } from '../data/parse.ts'
import { useAction } from '../data/use-action.ts'
import { useKeptForm } from '../data/use-kept.ts'
import { useQuery } from '../data/use-query.ts'
import { Button } from './button.tsx'
import { Confirm } from './confirm.tsx'
import { Dialog } from './dialog.tsx'
import { Field } from './field.tsx'
import { Problem } from './problem.tsx'
import { SubmitRow } from './submit-row.tsx'

interface Server {
  readonly id: string
  readonly name: string
  readonly url: string
  readonly lastError: string | null
  readonly tools: readonly unknown[]
}

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
  const listed = (data?.mcpServers ?? []) as readonly Server[] | { readonly nodes: readonly Server[] }
  const servers = 'nodes' in listed ? listed.nodes : listed
  return (
    <section aria-labelledby="mcp">
      <header className="page-head">
        <h2 id="mcp">MCP servers</h2>
        <Button icon="plus" onClick={() => setNew(true)}>
          Add MCP server
        </Button>
      </header>
      {error && <Problem>{error.message}</Problem>}
      <Problem>{again.problem}</Problem>
      {data && servers.length === 0 && (
        <p className="quiet">None. A Model Context Protocol server brings its tools with it.</p>
      )}
      {servers.length > 0 && (
        <div className="data" tabIndex={0} role="group" aria-label="List of MCP servers">
          <table aria-label="MCP servers">
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">Address</th>
                <th scope="col" className="number">
                  Tools
                </th>
                <th scope="col">State</th>
                <th scope="col">
                  <span className="unseen">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {servers.map((server) => (
                <tr key={server.id}>
                  <td>{server.name}</td>
                  <td className="cut mono">{server.url}</td>
                  <td className="number">{server.tools.length}</td>
                  <td>
                    {server.lastError ? (
                      <span className="field-problem">{server.lastError}</span>
                    ) : (
                      <span className="status good">Reached</span>
                    )}
                  </td>
                  <td>
                    <div className="row end nowrap">
                      <Button look="quiet" isBusy={again.isBusy} onClick={() => again.run(server.id)}>
                        Refresh
                      </Button>
                      <Button look="quiet" onClick={() => setGoing(server)}>
                        Remove
                      </Button>
                    </div>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
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
  const { name, url, headers } = kept.form
  const add = useAction(async () => {
    await client.request(AddMcpServer, { input: { name, url, headers: jsonOf(headers, 'headers') } })
    await onAdded()
    kept.forget()
  })
  const problemOf = (field: string): string | undefined => (add.field?.endsWith(field) ? add.problem : undefined)
  return (
    <Dialog title="Add an MCP server" onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          add.run()
        }}
      >
        <Field
          label="Name"
          value={name}
          autoFocus
          problem={problemOf('name')}
          onChange={(event) => kept.set({ name: event.target.value })}
        />
        <Field
          label="Address"
          type="url"
          placeholder="https://…"
          value={url}
          problem={problemOf('url')}
          onChange={(event) => kept.set({ url: event.target.value })}
        />
        <Field
          label="Headers"
          as="textarea"
          className="mono"
          rows={3}
          value={headers}
          problem={problemOf('headers')}
          hint="A JSON object of strings, such as an Authorization header. They cannot be read again."
          onChange={(event) => kept.set({ headers: event.target.value })}
        />
        {!add.field && <Problem>{add.problem}</Problem>}
        <SubmitRow form={kept} isBusy={add.isBusy}>
          Add server
        </SubmitRow>
      </form>
    </Dialog>
  )
}
