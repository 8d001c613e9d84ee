import { useState, type ReactNode } from 'react'

import type { ToolKind } from '../../client/schema-types.ts'
import { useClient } from '../../react/client-context.ts'
import { DeleteTool, Tools, type ToolRow } from '../data/documents.ts'
import { words } from '../data/format.ts'
import { useQuery } from '../data/use-query.ts'
import { Button } from '../parts/button.tsx'
import { Confirm } from '../parts/confirm.tsx'
import { Empty } from '../parts/empty.tsx'
import { Field } from '../parts/field.tsx'
import { McpServerList } from '../parts/mcp-server-list.tsx'
import { Page } from '../parts/page.tsx'
import { Problem } from '../parts/problem.tsx'
import { Skeleton } from '../parts/skeleton.tsx'
import { ToolForm } from '../parts/tool-form.tsx'
import { TryTool } from '../parts/try-tool.tsx'

const kinds: readonly ToolKind[] = ['BUILTIN', 'JAVASCRIPT', 'HTTP', 'CLIENT', 'MCP']

export function ToolsPage(): ReactNode {
  const client = useClient()
  const [kind, setKind] = useState<ToolKind | ''>('')
  const { data, error, refetch } = useQuery(Tools, { first: 200, filter: kind ? { kinds: [kind] } : null })
  const [edited, setEdited] = useState<ToolRow | 'NEW'>()
  const [tried, setTried] = useState<ToolRow>()
  const [going, setGoing] = useState<ToolRow>()
  const remove = async ({ id }: ToolRow): Promise<void> => {
    await client.request(DeleteTool, { input: { id } })
    await refetch()
  }
  const tools = data?.tools.nodes
  return (
    <Page
      title="Tools"
      lead="What agents can do. A tool can be given to any number of agents."
      actions={
        <Button look="primary" icon="plus" onClick={() => setEdited('NEW')}>
          New tool
        </Button>
      }
    >
      <div className="filters">
        <Field label="Kind" as="select" value={kind} onChange={(event) => setKind(event.target.value as ToolKind | '')}>
          <option value="">Any</option>
          {kinds.map((one) => (
            <option key={one} value={one}>
              {kindName(one)}
            </option>
          ))}
        </Field>
      </div>
      {error && <Problem>{error.message}</Problem>}
      {!tools && !error && <Skeleton lines={6} />}
      {tools && (
        <div className="data stacked tools" tabIndex={0} role="group" aria-label="List of tools">
          <table aria-label="Tools">
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">Kind</th>
                <th scope="col">Description</th>
                <th scope="col">Approval</th>
                <th scope="col">
                  <span className="unseen">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {tools.map((tool) => (
                <tr key={tool.id}>
                  <td className="mono name" title={tool.name}>
                    {tool.name}
                  </td>
                  <td>
                    {kindName(tool.kind)}
                    {tool.mcpServer && <span className="quiet"> {tool.mcpServer.name}</span>}
                  </td>
                  <td className="cut" title={tool.description}>
                    {tool.description}
                  </td>
                  <td className="short">{approvalOf(tool)}</td>
                  <td>
                    <div className="row end nowrap">
                      {tool.kind === 'JAVASCRIPT' && (
                        <Button look="quiet" aria-label={`Try ${tool.name}`} onClick={() => setTried(tool)}>
                          Try
                        </Button>
                      )}
                      <Button look="quiet" aria-label={`Edit ${tool.name}`} onClick={() => setEdited(tool)}>
                        Edit
                      </Button>
                      {tool.kind !== 'BUILTIN' && (
                        <Button look="quiet" aria-label={`Delete ${tool.name}`} onClick={() => setGoing(tool)}>
                          Delete
                        </Button>
                      )}
                    </div>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
          {tools.length === 0 && (
            <Empty icon="tools" title={kind ? `No ${kindName(kind)} tools` : 'There are no tools'} />
          )}
        </div>
      )}
      <McpServerList onChanged={() => void refetch()} />
      {edited && (
        <ToolForm
          tool={edited === 'NEW' ? undefined : edited}
          onClose={() => setEdited(undefined)}
          onSaved={async () => {
            // First the list: whoever edits the tool again at once begins with what was saved.
            await refetch()
            setEdited((now) => (now === edited ? undefined : now))
          }}
        />
      )}
      {tried && <TryTool tool={tried} onClose={() => setTried(undefined)} />}
      {going && (
        <Confirm
          key={going.id}
          title={`Delete ${going.name}?`}
          verb="Delete"
          act={() => remove(going)}
          onClose={() => setGoing(undefined)}
        >
          It is taken away from every agent that has it. This cannot be undone.
        </Confirm>
      )}
    </Page>
  )
}

function kindName(kind: ToolKind): string {
  return (
    { BUILTIN: 'Built-in', JAVASCRIPT: 'JavaScript', HTTP: 'HTTP', CLIENT: 'Client', MCP: 'MCP' }[kind] ?? words(kind)
  )
}

function approvalOf({ approvalCondition, requiresApproval, kind }: ToolRow): ReactNode {
  if (kind === 'CLIENT') return <span className="quiet">run by a client</span>
  if (approvalCondition !== null) return <span className="status hold">On a condition</span>
  return requiresApproval ? <span className="status hold">Always</span> : <span className="quiet">not needed</span>
}
