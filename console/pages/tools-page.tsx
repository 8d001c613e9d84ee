import { useDeferredValue, useState, type ReactNode } from 'react'

import type { ToolKind } from '../../client/schema-types.ts'
import { useClient } from '../../react/client-context.ts'
import { DeleteTool, Tools, type ToolRow } from '../data/documents.ts'
import { words } from '../data/format.ts'
import { useEdited } from '../data/use-edited.ts'
import { usePages } from '../data/use-pages.ts'
import { Button } from '../parts/button.tsx'
import { Confirm } from '../parts/confirm.tsx'
import { Empty } from '../parts/empty.tsx'
import { Field } from '../parts/field.tsx'
import { Loading } from '../parts/loading.tsx'
import { McpServerList } from '../parts/mcp-server-list.tsx'
import { Page } from '../parts/page.tsx'
import { ShowMore } from '../parts/show-more.tsx'
import { Table } from '../parts/table.tsx'
import { ToolForm } from '../parts/tool-form.tsx'
import { TryTool } from '../parts/try-tool.tsx'

const kinds: readonly ToolKind[] = ['BUILTIN', 'JAVASCRIPT', 'HTTP', 'CLIENT', 'MCP']

export function ToolsPage(): ReactNode {
  const client = useClient()
  const [kind, setKind] = useState<ToolKind | ''>('')
  const [search, setSearch] = useState('')
  const nameContains = useDeferredValue(search.trim())
  const isFiltered = kind !== '' || nameContains !== ''
  const filter = { ...(kind && { kinds: [kind] }), ...(nameContains && { nameContains }) }
  const pages = usePages(Tools, { first: 100, filter }, ({ tools }) => tools)
  const [edited, setEdited] = useEdited<ToolRow>()
  const [tried, setTried] = useState<ToolRow>()
  const [going, setGoing] = useState<ToolRow>()
  const remove = async ({ id }: ToolRow): Promise<void> => {
    await client.request(DeleteTool, { input: { id } })
    await pages.reload()
  }
  const tools = pages.nodes
  return (
    <Page
      title="Tools"
      lead="What agents can do. A tool can be given to any number of agents."
      actions={
        <Button look="primary" icon="plus" onClick={() => setEdited('new')}>
          New tool
        </Button>
      }
    >
      <div className="filters">
        <Field
          label="Name"
          type="search"
          aria-label="Search tools"
          value={search}
          onChange={(event) => setSearch(event.target.value)}
        />
        <Field label="Kind" as="select" value={kind} onChange={(event) => setKind(event.target.value as ToolKind | '')}>
          <option value="">Any</option>
          {kinds.map((one) => (
            <option key={one} value={one}>
              {kindName(one)}
            </option>
          ))}
        </Field>
      </div>
      <Loading of={pages} data={tools} lines={6} />
      {tools && (
        <Table
          label="Tools"
          className="stacked tools"
          rows={tools}
          onOpen={setEdited}
          columns={[
            { head: 'Name', className: 'mono name', cell: ({ name }) => <span title={name}>{name}</span> },
            {
              head: 'Kind',
              cell: ({ kind, mcpServer }) => (
                <>
                  {kindName(kind)} {mcpServer && <span className="quiet">{mcpServer.name}</span>}
                </>
              ),
            },
            {
              head: 'Description',
              className: 'cut',
              cell: (tool) => <span title={tool.description}>{tool.description}</span>,
            },
            { head: 'Approval', className: 'short', cell: approvalOf },
            {
              head: '',
              cell: (tool) => (
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
              ),
            },
          ]}
          empty={<Empty icon="tools" title={isFiltered ? 'No tool fits this search' : 'There are no tools'} />}
        />
      )}
      <ShowMore of={pages} />
      <McpServerList onChanged={() => void pages.reload()} />
      {edited && (
        <ToolForm
          tool={edited === 'new' ? undefined : edited}
          onClose={() => setEdited(undefined)}
          onSaved={async () => {
            // First the list: whoever edits the tool again at once begins with what was saved.
            await pages.reload()
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
