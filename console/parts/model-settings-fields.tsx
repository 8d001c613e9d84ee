import type { ReactNode } from 'react'

import type { AgentFields } from '../data/agent-form.ts'
import { bind } from '../data/bind.ts'
import { Check } from './check.tsx'
import { Field } from './field.tsx'

/** The settings for model requests. Empty fields mean the model's defaults. */
export function ModelSettingsFields({ fields }: { readonly fields: AgentFields }): ReactNode {
  const { text, check } = bind(fields)
  const number = (name: Parameters<typeof text>[0]) =>
    ({ inputMode: 'decimal', placeholder: "model's default", ...text(name, `modelSettings.${name}`) }) as const
  return (
    <fieldset>
      <legend>Model settings</legend>
      <div className="two">
        <Field label="Temperature" {...number('temperature')} />
        <Field label="Maximum answer tokens" {...number('maxOutputTokens')} />
        <Field label="Context window in tokens" {...number('contextWindow')} />
        <Field label="Reasoning" as="select" {...text('reasoningEffort', 'modelSettings.reasoningEffort')}>
          <option value="">model's default</option>
          <option value="MINIMAL">minimal</option>
          <option value="LOW">low</option>
          <option value="MEDIUM">medium</option>
          <option value="HIGH">high</option>
        </Field>
        <Field label="Maximum reasoning tokens" {...number('reasoningBudget')} />
      </div>
      <Check label="One answer may contain several tool calls" {...check('parallelToolCalls')} />
      <Field
        label="Fallback models"
        className="mono"
        placeholder="none"
        hint="Handles to try in this order when the first is overloaded or cannot be reached, separated by commas."
        {...text('fallbacks', 'modelSettings.fallbacks')}
      />
      <Field
        label="Response schema"
        as="textarea"
        className="mono"
        rows={3}
        spellCheck={false}
        hint="JSON Schema that the final answer must satisfy. Empty: free text."
        {...text('responseSchema', 'modelSettings.responseSchema')}
      />
    </fieldset>
  )
}
