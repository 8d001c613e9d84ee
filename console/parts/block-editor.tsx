import { useState, type ReactNode } from 'react'

import { useClient } from '../../react/client-context.ts'
import { UpdateBlock, type BlockFields } from '../data/documents.ts'
import { count } from '../data/format.ts'
import { useAction } from '../data/use-action.ts'
import { useKept } from '../data/use-kept.ts'
import { Button } from './button.tsx'
import { Conflict } from './conflict.tsx'
import { Field } from './field.tsx'

interface BlockEditorProps {
  readonly block: BlockFields
  readonly onSaved: (block: BlockFields) => void
}

interface Draft {
  readonly value: string
  /** The block as it was when the person began to type. */
  readonly base: BlockFields
}

/** Edits the value of a block. If someone else has changed it, both versions are shown and the person decides. */
export function BlockEditor({ block, onSaved }: BlockEditorProps): ReactNode {
  const client = useClient()
  const [draft, setDraft] = useKept<Draft>(`block.${block.id}`)
  const [saved, setSaved] = useState(block)
  const [theirs, setTheirs] = useState<BlockFields>()
  // If an agent writes to the block, that is shown, unless the person has started typing.
  const base = draft?.base ?? (saved.version > block.version ? saved : block)
  const value = draft?.value ?? base.value
  const setValue = (typed: string): void => setDraft(typed === base.value ? undefined : { value: typed, base })
  const save = useAction(async (expectedVersion: number) => {
    const { updateBlock } = await client.request(UpdateBlock, { input: { id: block.id, value, expectedVersion } })
    const { __typename, block: now } = updateBlock!
    if (__typename === 'BlockChangedRefusal') return setTheirs(now)
    setTheirs(undefined)
    setSaved(now)
    // What was typed meanwhile stays.
    setDraft((typed) => (typed && typed.value !== value ? { value: typed.value, base: now } : undefined))
    onSaved(now)
  })
  const isOver = value.length > base.charLimit
  return (
    <form
      className="stack block-editor"
      onSubmit={(event) => {
        event.preventDefault()
        save.run(base.version)
      }}
    >
      <Field
        label="Value"
        as="textarea"
        rows={Math.min(12, Math.max(3, value.split('\n').length))}
        value={value}
        readOnly={base.readOnly}
        onChange={(event) => setValue(event.target.value)}
        problem={isOver ? `At most ${count(base.charLimit)} characters.` : save.problem}
        hint={
          <>
            {count(value.length)} of {count(base.charLimit)} characters · version {base.version}
            {base.readOnly && ' · read-only'}
          </>
        }
      />
      {theirs && (
        <Conflict
          isBusy={save.isBusy}
          onTake={() => {
            setSaved(theirs)
            setDraft(undefined)
            setTheirs(undefined)
          }}
          onReplace={() => save.run(theirs.version)}
        >
          <p>Someone else has changed this block. It now says:</p>
          <pre className="plain-text">{theirs.value}</pre>
        </Conflict>
      )}
      {!base.readOnly && (
        <div className="row">
          <Button look="primary" type="submit" isBusy={save.isBusy} disabled={value === base.value || isOver}>
            Save block
          </Button>
          {value !== base.value && (
            <Button look="quiet" onClick={() => setDraft(undefined)}>
              Undo
            </Button>
          )}
        </div>
      )}
    </form>
  )
}
