import type { ReactNode } from 'react'

import type { AgentForm, ProblemOf, SetForm } from '../data/agent-form.ts'
import { Field } from './field.tsx'

interface CompactionFieldsProps {
  readonly form: AgentForm
  readonly set: SetForm
  readonly problemOf: ProblemOf
}

/** What happens when the context grows too long, and background work on the agent's memory. */
export function CompactionFields({ form, set, problemOf }: CompactionFieldsProps): ReactNode {
  return (
    <>
      <fieldset>
        <legend>Compaction</legend>
        <p className="quiet">When the context fills 90 % of the window, older messages are replaced by a summary.</p>
        <div className="two">
          <Field
            label="Summarise"
            as="select"
            value={form.compactionMode}
            onChange={(event) => set({ compactionMode: event.target.value as AgentForm['compactionMode'] })}
          >
            <option value="SLIDING_WINDOW">older messages</option>
            <option value="ALL">all messages</option>
          </Field>
          <Field
            label="Share of recent messages to keep"
            inputMode="decimal"
            value={form.keepRatio}
            problem={problemOf('compaction.keepRatio')}
            onChange={(event) => set({ keepRatio: event.target.value })}
          />
          <Field
            label="Summaries are written by"
            list="models"
            value={form.compactionModel}
            placeholder="the agent's own"
            problem={problemOf('compaction.model')}
            onChange={(event) => set({ compactionModel: event.target.value })}
          />
        </div>
        <Field
          label="Prompt for summaries"
          as="textarea"
          rows={2}
          value={form.compactionPrompt}
          placeholder="the built-in one"
          problem={problemOf('compaction.prompt')}
          onChange={(event) => set({ compactionPrompt: event.target.value })}
        />
      </fieldset>
      <fieldset>
        <legend>Sleeptime</legend>
        <label className="check">
          <input
            type="checkbox"
            checked={form.hasSleeptime}
            onChange={(event) => set({ hasSleeptime: event.target.checked })}
          />
          <span>A background agent maintains this agent's memory between turns</span>
        </label>
        {form.hasSleeptime && (
          <Field
            label="Turns between two of its runs"
            inputMode="numeric"
            value={form.frequency}
            problem={problemOf('frequency')}
            onChange={(event) => set({ frequency: event.target.value })}
          />
        )}
      </fieldset>
    </>
  )
}
