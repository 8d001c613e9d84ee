import { useState, type ReactNode } from 'react'
import { Link } from 'wouter'

import { useClient } from '../../react/client-context.ts'
import { bind } from '../data/bind.ts'
import { Blocks, CreateBlock, DeleteBlock, type BlockFields } from '../data/documents.ts'
import { count } from '../data/format.ts'
import { useAction } from '../data/use-action.ts'
import { useEdited } from '../data/use-edited.ts'
import { useKeptForm } from '../data/use-kept.ts'
import { usePages } from '../data/use-pages.ts'
import { BlockEditor } from '../parts/block-editor.tsx'
import { Button } from '../parts/button.tsx'
import { Confirm } from '../parts/confirm.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Empty } from '../parts/empty.tsx'
import { Field } from '../parts/field.tsx'
import { Form } from '../parts/form.tsx'
import { Loading } from '../parts/loading.tsx'
import { Page } from '../parts/page.tsx'
import { ShowMore } from '../parts/show-more.tsx'
import { Ago } from '../parts/time.tsx'

/** How many of the agents that share a block are named. */
const mostNamed = 6

export function MemoryPage(): ReactNode {
  const client = useClient()
  const pages = usePages(Blocks, { first: 100 }, ({ blocks }) => blocks)
  const [search, setSearch] = useState('')
  const [isNew, setNew] = useEdited()
  const [going, setGoing] = useState<{ readonly id: string; readonly label: string }>()
  const remove = async (gone: string): Promise<void> => {
    await client.request(DeleteBlock, { input: { id: gone } })
    pages.change((nodes) => nodes.filter(({ id }) => id !== gone))
  }
  const wanted = search.trim().toLowerCase()
  const isFound = ({ label, value }: BlockFields): boolean => `${label} ${value}`.toLowerCase().includes(wanted)
  return (
    <Page
      title="Memory"
      lead="Blocks are part of the system prompt. Agents read and write them, and may share them."
      actions={
        <>
          <input
            type="search"
            aria-label="Search blocks"
            placeholder="Search blocks"
            value={search}
            onChange={(event) => setSearch(event.target.value)}
          />
          <Button look="primary" icon="plus" onClick={() => setNew('new')}>
            New block
          </Button>
        </>
      }
    >
      <Loading of={pages} data={pages.nodes} lines={5} />
      {pages.nodes && !pages.nodes.some(isFound) && (
        <Empty icon="memory" title={wanted ? `No block contains “${search.trim()}”` : 'There are no blocks yet'}>
          {!wanted && (
            <p>A block is a piece of text that an agent always sees, such as what it knows about a person.</p>
          )}
        </Empty>
      )}
      {pages.nodes && pages.nodes.length > 0 && (
        <ul className="blocks" aria-label="Blocks">
          {pages.nodes.map((block) => (
            // Those that a search leaves out stay, with what was typed into them.
            <li key={block.id} className="panel" hidden={!isFound(block)}>
              <header>
                <h2>{block.label}</h2>
                <Button look="quiet" aria-label={`Delete ${block.label}`} onClick={() => setGoing(block)}>
                  Delete
                </Button>
              </header>
              {block.description && <p className="quiet">{block.description}</p>}
              <p className="quiet">
                {block.agents.length === 0 && 'No agent has it. '}
                {block.agents.length > 0 && (block.agents.length > 1 ? 'Shared by ' : 'Used by ')}
                {block.agents.slice(0, mostNamed).map((agent, index) => (
                  <span key={agent.id}>
                    {index > 0 && ', '}
                    <Link href={`/agents/${agent.id}`}>{agent.name}</Link>
                  </span>
                ))}
                {block.agents.length > mostNamed && ` and ${count(block.agents.length - mostNamed)} others`} · changed{' '}
                <Ago at={block.updatedAt} />
              </p>
              <BlockEditor
                block={block}
                onSaved={(saved) =>
                  pages.change((nodes) => nodes.map((one) => (one.id === saved.id ? { ...one, ...saved } : one)))
                }
              />
            </li>
          ))}
        </ul>
      )}
      <ShowMore of={pages} />
      {isNew && (
        <NewBlock
          onClose={() => setNew(undefined)}
          onCreated={(block) => {
            setNew(undefined)
            pages.change((nodes) => [{ ...block, agents: [] }, ...nodes])
          }}
        />
      )}
      {going && (
        <Confirm
          key={going.id}
          title={`Delete ${going.label}?`}
          verb="Delete"
          act={() => remove(going.id)}
          onClose={() => setGoing(undefined)}
        >
          It is taken away from every agent that has it. This cannot be undone.
        </Confirm>
      )}
    </Page>
  )
}

interface NewBlockProps {
  readonly onClose: () => void
  readonly onCreated: (block: BlockFields) => void
}

function NewBlock({ onClose, onCreated }: NewBlockProps): ReactNode {
  const client = useClient()
  const kept = useKeptForm('block.new', { label: '', value: '', description: '' })
  const create = useAction(async () => {
    const { label, value, description } = kept.form
    const { createBlock } = await client.request(CreateBlock, {
      input: { label, value, description: description || null },
    })
    kept.forget()
    onCreated(createBlock!.block)
  })
  const { text } = bind({ ...kept, problemOf: create.problemOf })
  return (
    <Dialog title="New block" onClose={onClose}>
      <Form action={create} onSubmit={create.run} submit="Create block" kept={kept}>
        <Field label="Label" autoFocus required {...text('label')} />
        <Field label="Description" hint="Tells the model what the block is for." {...text('description')} />
        <Field label="Content" as="textarea" rows={4} {...text('value')} />
      </Form>
    </Dialog>
  )
}
