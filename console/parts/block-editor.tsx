import { useState, type ReactNode } from 'react'

import { useClient } from '../../react/client-context.ts'
import { UpdateBlock, type BlockFields } from '../data/documents.ts'
import { count } from '../data/format.ts'
import { useAction } from '../data/use-action.ts'
import { Button } from './button.tsx'
import { Field } from './field.tsx'
import { Problem } from './problem.tsx'

interface BlockEditorProps {
  readonly block: BlockFields
  readonly onSaved: (block: BlockFields) => void
}

/** Edits the value of a block. If someone else has changed it, both versions are shown and the person decides. */
export function BlockEditor({ block, onSaved }: BlockEditorProps): ReactNode {
  const client = useClient()
  const [base, setBase] = useState(block)
  const [value, setValue] = useState(block.value)
  const [theirs, setTheirs] = useState<BlockFields>()
  // An agent wrote to the block: show that, unless the person has started typing.
  if (block.version > base.version && value === base.value) {
    setBase(block)
    setValue(block.value)
  }
  const save = useAction(async (expectedVersion: number) => {
    const { updateBlock } = await client.request(UpdateBlock, { input: { id: block.id, value, expectedVersion } })
    const { __typename, block: now } = updateBlock!
    if (__typename === 'BlockChangedRefusal') return setTheirs(now)
    setTheirs(undefined)
    setBase(now)
    // What was typed meanwhile stays.
    setValue((typed) => (typed === value ? now.value : typed))
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
        <Problem>
          <p>Someone else has changed this block. It now says:</p>
          <pre className="plain-text">{theirs.value}</pre>
          <div className="row">
            <Button
              onClick={() => {
                setBase(theirs)
                setValue(theirs.value)
                setTheirs(undefined)
              }}
            >
              Take theirs
            </Button>
            <Button look="danger" isBusy={save.isBusy} onClick={() => save.run(theirs.version)}>
              Replace with mine
            </Button>
          </div>
        </Problem>
      )}
      {!base.readOnly && (
        <div className="row">
          <Button look="primary" type="submit" isBusy={save.isBusy} disabled={value === base.value || isOver}>
            Save block
          </Button>
          {value !== base.value && (
            <Button look="quiet" onClick={() => setValue(base.value)}>
              Undo
            </Button>
          )}
        </div>
      )}
    </form>
  )
}
