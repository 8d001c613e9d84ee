import { useState, type ReactNode } from 'react'

import type { AgentFields, BlockDraft } from '../data/agent-form.ts'
import { bind } from '../data/bind.ts'
import type { AgentFormChoicesData } from '../data/documents.ts'
import { Button } from './button.tsx'
import { Check } from './check.tsx'
import { Field } from './field.tsx'
import { Problem } from './problem.tsx'

interface BlockChoiceProps {
  readonly blocks: AgentFormChoicesData['blocks']['nodes']
  readonly fields: AgentFields
}

/** The memory of the agent: blocks made for it, and blocks that it shares with others. */
export function BlockChoice({ blocks, fields: { form, set, problemOf } }: BlockChoiceProps): ReactNode {
  const { newBlocks, blockIds } = form
  // It does not fold up when the last one is left out.
  const [wasOpen] = useState(blockIds.length > 0)
  const isShown = newBlocks.some((_, index) => problemOf(`blocks.${index}`))
  const change = (at: number, part: Partial<BlockDraft>): void =>
    set({ newBlocks: newBlocks.map((block, index) => (index === at ? { ...block, ...part } : block)) })
  return (
    <fieldset>
      <legend>Memory blocks</legend>
      {newBlocks.map((block, index) => {
        const { text } = bind({
          form: block,
          set: (part) => change(index, part),
          problemOf: (path) => problemOf(`blocks.${index}.${path}`),
        })
        return (
          <div key={index} className="rule-row" role="group" aria-label={`New block ${index + 1}`}>
            <div className="two">
              <Field label="Label" {...text('label')} />
              <Field label="Purpose" hint="Tells the model what the block is for." {...text('description')} />
            </div>
            <Field label="Content" as="textarea" rows={3} {...text('value')} />
            <Button look="quiet" onClick={() => set({ newBlocks: newBlocks.filter((_, at) => at !== index) })}>
              Remove block {index + 1}
            </Button>
          </div>
        )
      })}
      <div className="row">
        <Button
          icon="plus"
          onClick={() => set({ newBlocks: [...newBlocks, { label: '', value: '', description: '' }] })}
        >
          Add block
        </Button>
      </div>
      {blocks.length > 0 && (
        <details open={wasOpen}>
          <summary>Blocks that exist</summary>
          <div className="scroll-list" role="group" aria-label="Existing blocks" tabIndex={0}>
            {blocks.map((block) => (
              <Check
                key={block.id}
                label={block.label}
                hint={block.description ?? block.value.slice(0, 60)}
                checked={blockIds.includes(block.id)}
                onChange={(event) => {
                  const others = blockIds.filter((id) => id !== block.id)
                  set({ blockIds: event.target.checked ? [...others, block.id] : others })
                }}
              />
            ))}
          </div>
        </details>
      )}
      <Problem>{problemOf('blockIds') ?? (isShown ? undefined : problemOf('blocks'))}</Problem>
    </fieldset>
  )
}
