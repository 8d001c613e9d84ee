import { useDeferredValue, useState, type ReactNode } from 'react'
import { Link } from 'wouter'

import { useClient } from '../../react/client-context.ts'
import { bind } from '../data/bind.ts'
import { AddPassages, Archive, DeletePassages, SearchArchive, type PassageFields } from '../data/documents.ts'
import { count } from '../data/format.ts'
import { useAction } from '../data/use-action.ts'
import { useKeptForm } from '../data/use-kept.ts'
import { usePages } from '../data/use-pages.ts'
import { useQuery } from '../data/use-query.ts'
import { Button } from '../parts/button.tsx'
import { Confirm } from '../parts/confirm.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Empty } from '../parts/empty.tsx'
import { Field } from '../parts/field.tsx'
import { Form } from '../parts/form.tsx'
import { Loading } from '../parts/loading.tsx'
import { Page } from '../parts/page.tsx'
import { Problem } from '../parts/problem.tsx'
import { ShowMore } from '../parts/show-more.tsx'
import { Table } from '../parts/table.tsx'
import { Ago } from '../parts/time.tsx'
import { NotFoundPage } from './not-found-page.tsx'

const none = { nodes: [], totalCount: 0, pageInfo: { hasNextPage: false, endCursor: null } }

/** The texts of an agent that are not in its context until a tool finds them. */
export function ArchivePage({ id }: { readonly id: string }): ReactNode {
  const client = useClient()
  const [search, setSearch] = useState('')
  const query = useDeferredValue(search.trim())
  const { data, refetch } = useQuery(Archive, { id, first: 1 })
  const pages = usePages(Archive, { id, first: 50 }, ({ agent }) => agent?.passages ?? none)
  const found = useQuery(SearchArchive, query === '' ? null : { id, query })
  const [isNew, setNew] = useState(false)
  const [going, setGoing] = useState<PassageFields>()
  if (data && !data.agent) return <NotFoundPage what="agent" />
  const agent = data?.agent
  const matches = found.data?.agent?.searchPassages.map(({ passage }) => passage)
  const rows = query === '' ? pages.nodes : matches
  const reload = async (): Promise<void> => {
    await Promise.all([pages.reload(), refetch(), query !== '' && found.refetch()])
  }
  const remove = async ({ id: gone }: PassageFields): Promise<void> => {
    await client.request(DeletePassages, { input: { ids: [gone] } })
    await reload()
  }
  return (
    <Page
      title={agent ? `Archive of ${agent.name}` : 'Archive'}
      lead={
        agent && (
          <>
            {agent.passages.totalCount === 1
              ? 'One text, found by its words'
              : `${count(agent.passages.totalCount)} texts, found by their words`}
            {agent.embeddingModel && ` and, with ${agent.embeddingModel}, by meaning`}.{' '}
            <Link href={`/agents/${id}/edit`}>Edit the agent</Link>
          </>
        )
      }
      actions={
        <>
          <input
            type="search"
            aria-label="Search the archive"
            placeholder="Search the archive"
            value={search}
            onChange={(event) => setSearch(event.target.value)}
          />
          <Button look="primary" icon="plus" onClick={() => setNew(true)}>
            Add text
          </Button>
        </>
      }
    >
      <Loading of={pages} data={pages.nodes} lines={5} />
      <Problem>{found.error?.message}</Problem>
      {rows && (
        <Table
          label="Archive"
          className="stacked"
          rows={rows}
          columns={[
            { head: 'Text', cell: ({ text }) => <span className="passage">{text}</span> },
            { head: 'Tags', cell: ({ tags }) => <span className="quiet">{tags.join(', ')}</span> },
            { head: 'Added', className: 'short', cell: ({ createdAt }) => <Ago at={createdAt} /> },
            {
              head: '',
              cell: (passage) => (
                <div className="row end nowrap">
                  {agent?.embeddingModel && !passage.embedded && <span className="quiet">not embedded yet</span>}
                  <Button
                    look="quiet"
                    aria-label={`Delete ${passage.text.slice(0, 40)}`}
                    onClick={() => setGoing(passage)}
                  >
                    Delete
                  </Button>
                </div>
              ),
            },
          ]}
          empty={
            <Empty icon="memory" title={query === '' ? 'The archive is empty' : 'No text fits this search'}>
              {query === '' && <p>The agent adds texts with archival_memory_insert, and so can you.</p>}
            </Empty>
          }
        />
      )}
      {query === '' && <ShowMore of={pages} />}
      {isNew && (
        <NewPassage
          agentId={id}
          onClose={() => setNew(false)}
          onAdded={async () => {
            await reload()
            setNew(false)
          }}
        />
      )}
      {going && (
        <Confirm
          key={going.id}
          title="Delete this text?"
          verb="Delete"
          act={() => remove(going)}
          onClose={() => setGoing(undefined)}
        >
          The agent will no longer find it. This cannot be undone.
        </Confirm>
      )}
    </Page>
  )
}

interface NewPassageProps {
  readonly agentId: string
  readonly onClose: () => void
  readonly onAdded: () => Promise<void>
}

function NewPassage({ agentId, onClose, onAdded }: NewPassageProps): ReactNode {
  const client = useClient()
  const kept = useKeptForm(`passage.${agentId}`, { text: '', tags: '' })
  const add = useAction(async () => {
    const tags = kept.form.tags.split(',').map((tag) => tag.trim())
    await client.request(AddPassages, {
      input: { agentId, passages: [{ text: kept.form.text, tags: tags.filter(Boolean) }] },
    })
    kept.forget()
    await onAdded()
  })
  const { text } = bind({ ...kept, problemOf: (path) => add.problemOf(`passages.0.${path}`) })
  return (
    <Dialog title="Add text" onClose={onClose}>
      <Form action={add} onSubmit={add.run} submit="Add" kept={kept}>
        <Field label="Text" as="textarea" rows={6} required {...text('text')} />
        <Field label="Tags" hint="Separated by commas." {...text('tags')} />
      </Form>
    </Dialog>
  )
}
