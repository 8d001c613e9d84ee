import type { ReactNode } from 'react'

import type { AgentFields } from '../data/agent-form.ts'
import { bind } from '../data/bind.ts'
import { Check } from './check.tsx'
import { Field } from './field.tsx'

/** What happens when the context grows too long, and background work on the agent's memory. */
export function CompactionFields({ fields }: { readonly fields: AgentFields }): ReactNode {
  const { text, check } = bind(fields)
  return (
    <>
      <fieldset>
        <legend>Compaction</legend>
        <p className="quiet">When the context fills 90 % of the window, older messages are replaced by a summary.</p>
        <div className="two">
          <Field label="What is summarised" as="select" {...text('compactionMode')}>
            <option value="SLIDING_WINDOW">older messages</option>
            <option value="ALL">all messages</option>
          </Field>
          <Field
            label="Share that is kept"
            inputMode="decimal"
            hint="0.7 keeps the newest 70 %."
            {...text('keepRatio', 'compaction.keepRatio')}
          />
          <Field
            label="Model for summaries"
            list="models"
            placeholder="the agent's own"
            {...text('compactionModel', 'compaction.model')}
          />
        </div>
        <Field
          label="Prompt for summaries"
          as="textarea"
          rows={2}
          placeholder="the built-in one"
          {...text('compactionPrompt', 'compaction.prompt')}
        />
      </fieldset>
      <fieldset>
        <legend>Sleeptime</legend>
        <Check label="A background agent maintains this agent's memory between turns" {...check('hasSleeptime')} />
        {fields.form.hasSleeptime && (
          <Field label="Turns between two of its runs" inputMode="numeric" {...text('frequency')} />
        )}
      </fieldset>
    </>
  )
}
