import { useState, type ReactNode } from 'react'

import type { AgentForm, BlockDraft, ProblemOf, SetForm } from '../data/agent-form.ts'
import type { AgentFormChoicesData } from '../data/documents.ts'
import { Button } from './button.tsx'
import { Field } from './field.tsx'
import { Problem } from './problem.tsx'

interface BlockChoiceProps {
  readonly blocks: AgentFormChoicesData['blocks']['nodes']
  readonly form: AgentForm
  readonly set: SetForm
  readonly problemOf: ProblemOf
}

/** The memory of the agent: blocks made for it, and blocks that it shares with others. */
export function BlockChoice({ blocks, form, set, problemOf }: BlockChoiceProps): ReactNode {
  const { newBlocks, blockIds } = form
  // It does not fold up when the last one is left out.
  const [wasOpen] = useState(blockIds.length > 0)
  const isShown = newBlocks.some((_, index) => problemOf(`blocks.${index}`))
  const change = (at: number, part: Partial<BlockDraft>): void =>
    set({ newBlocks: newBlocks.map((block, index) => (index === at ? { ...block, ...part } : block)) })
  return (
    <fieldset>
      <legend>Memory blocks</legend>
      {newBlocks.map((block, index) => (
        <div key={index} className="rule-row" role="group" aria-label={`New block ${index + 1}`}>
          <div className="two">
            <Field
              label="Label"
              value={block.label}
              problem={problemOf(`blocks.${index}.label`)}
              onChange={(event) => change(index, { label: event.target.value })}
            />
            <Field
              label="Purpose"
              value={block.description}
              problem={problemOf(`blocks.${index}.description`)}
              hint="Tells the model what the block is for."
              onChange={(event) => change(index, { description: event.target.value })}
            />
          </div>
          <Field
            label="Content"
            as="textarea"
            rows={3}
            value={block.value}
            problem={problemOf(`blocks.${index}.value`)}
            onChange={(event) => change(index, { value: event.target.value })}
          />
          <Button look="quiet" onClick={() => set({ newBlocks: newBlocks.filter((_, at) => at !== index) })}>
            Remove block {index + 1}
          </Button>
        </div>
      ))}
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
              <label key={block.id} className="check">
                <input
                  type="checkbox"
                  checked={blockIds.includes(block.id)}
                  onChange={(event) => {
                    const others = blockIds.filter((id) => id !== block.id)
                    set({ blockIds: event.target.checked ? [...others, block.id] : others })
                  }}
                />
                <span>
                  {block.label} <span className="quiet">{block.description ?? block.value.slice(0, 60)}</span>
                </span>
              </label>
            ))}
          </div>
        </details>
      )}
      <Problem>{problemOf('blockIds') ?? (isShown ? undefined : problemOf('blocks'))}</Problem>
    </fieldset>
  )
}
