import type { ReactNode } from 'react'

import type { ReasoningEffort } from '../../client/schema-types.ts'
import type { AgentForm, ProblemOf, SetForm } from '../data/agent-form.ts'
import { Field } from './field.tsx'

interface ModelSettingsFieldsProps {
  readonly form: AgentForm
  readonly set: SetForm
  readonly problemOf: ProblemOf
}

/** The settings for model requests. Empty fields mean the model's defaults. */
export function ModelSettingsFields({ form, set, problemOf }: ModelSettingsFieldsProps): ReactNode {
  return (
    <fieldset>
      <legend>Model settings</legend>
      <div className="two">
        <Field
          label="Temperature"
          inputMode="decimal"
          value={form.temperature}
          placeholder="model's default"
          problem={problemOf('modelSettings.temperature')}
          onChange={(event) => set({ temperature: event.target.value })}
        />
        <Field
          label="Longest answer in tokens"
          inputMode="numeric"
          value={form.maxOutputTokens}
          placeholder="model's limit"
          problem={problemOf('modelSettings.maxOutputTokens')}
          onChange={(event) => set({ maxOutputTokens: event.target.value })}
        />
        <Field
          label="Context window in tokens"
          inputMode="numeric"
          value={form.contextWindow}
          placeholder="model's own"
          problem={problemOf('modelSettings.contextWindow')}
          onChange={(event) => set({ contextWindow: event.target.value })}
        />
        <Field
          label="Reasoning"
          as="select"
          value={form.reasoningEffort}
          problem={problemOf('modelSettings.reasoningEffort')}
          onChange={(event) => set({ reasoningEffort: event.target.value as ReasoningEffort | '' })}
        >
          <option value="">model's default</option>
          <option value="MINIMAL">minimal</option>
          <option value="LOW">low</option>
          <option value="MEDIUM">medium</option>
          <option value="HIGH">high</option>
        </Field>
        <Field
          label="Most reasoning tokens"
          inputMode="numeric"
          value={form.reasoningBudget}
          placeholder="model's default"
          problem={problemOf('modelSettings.reasoningBudget')}
          onChange={(event) => set({ reasoningBudget: event.target.value })}
        />
      </div>
      <label className="check">
        <input
          type="checkbox"
          checked={form.parallelToolCalls}
          onChange={(event) => set({ parallelToolCalls: event.target.checked })}
        />
        <span>One answer may contain several tool calls</span>
      </label>
      <Field
        label="Fallbacks"
        className="mono"
        value={form.fallbacks}
        placeholder="none"
        problem={problemOf('modelSettings.fallbacks')}
        hint="Handles to try in this order when the first is overloaded or cannot be reached, separated by commas."
        onChange={(event) => set({ fallbacks: event.target.value })}
      />
      <Field
        label="Response schema"
        as="textarea"
        className="mono"
        rows={3}
        spellCheck={false}
        value={form.responseSchema}
        problem={problemOf('modelSettings.responseSchema')}
        hint="JSON Schema that the final answer must satisfy. Empty: free text."
        onChange={(event) => set({ responseSchema: event.target.value })}
      />
    </fieldset>
  )
}
