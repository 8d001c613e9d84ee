import type { ReactNode } from 'react'

import type { ToolRuleKind } from '../../client/schema-types.ts'
import {
  emptyRule,
  ruleFieldsOf,
  type AgentForm,
  type ProblemOf,
  type RuleDraft,
  type SetForm,
} from '../data/agent-form.ts'
import { Button } from './button.tsx'
import { Field } from './field.tsx'
import { Problem } from './problem.tsx'

const kinds: readonly (readonly [ToolRuleKind, string])[] = [
  ['REQUIRES_APPROVAL', 'every call needs approval'],
  ['RUN_FIRST', 'must be called first'],
  ['REQUIRED_BEFORE_EXIT', 'must be called before the run ends'],
  ['TERMINAL', 'ends the run'],
  ['CONTINUE', 'lets the run go on'],
  ['MAX_CALLS', 'is limited in number'],
  ['CHILDREN', 'decides which tools may follow'],
  ['PARENT', 'must come directly before others'],
  ['CONDITIONAL', 'decides the next tool by its result'],
]

interface RuleEditorProps {
  readonly form: AgentForm
  readonly set: SetForm
  readonly toolNames: readonly string[]
  readonly problemOf: ProblemOf
}

/** The rules on tool calls. Each shows only the fields that its kind has. */
export function RuleEditor({ form, set, toolNames, problemOf }: RuleEditorProps): ReactNode {
  const { rules } = form
  const change = (at: number, part: Partial<RuleDraft>): void =>
    set({ rules: rules.map((rule, index) => (index === at ? { ...rule, ...part } : rule)) })
  return (
    <fieldset>
      <legend>Tool rules</legend>
      <datalist id="rule-tools">
        {toolNames.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      {rules.length === 0 && <p className="quiet">None: the model may call any of its tools at any time.</p>}
      {rules.map((rule, index) => {
        const fields = ruleFieldsOf(rule.kind)
        const problemAt = (field: keyof RuleDraft): string | undefined => problemOf(`toolRules.${index}.${field}`)
        // A checkbox shows no problem of its own.
        const isAtField = (['tool', 'kind', ...fields] as const).some(
          (field) => field !== 'requireMapping' && problemAt(field),
        )
        return (
          <div key={index} className="rule-row" role="group" aria-label={`Rule ${index + 1}`}>
            <div className="two">
              <Field
                label="Tool"
                list="rule-tools"
                value={rule.tool}
                problem={problemAt('tool')}
                onChange={(event) => change(index, { tool: event.target.value })}
              />
              <Field
                label="Rule"
                as="select"
                value={rule.kind}
                problem={problemAt('kind')}
                onChange={(event) => change(index, { kind: event.target.value as ToolRuleKind })}
              >
                {kinds.map(([kind, label]) => (
                  <option key={kind} value={kind}>
                    {label}
                  </option>
                ))}
              </Field>
            </div>
            {fields.includes('children') && (
              <Field
                label="Tools that may follow"
                value={rule.children}
                problem={problemAt('children')}
                hint="Separated by commas."
                onChange={(event) => change(index, { children: event.target.value })}
              />
            )}
            {fields.includes('maxCalls') && (
              <Field
                label="Calls in one run"
                inputMode="numeric"
                value={rule.maxCalls}
                problem={problemAt('maxCalls')}
                onChange={(event) => change(index, { maxCalls: event.target.value })}
              />
            )}
            {fields.includes('outputMapping') && (
              <>
                <Field
                  label="Next tool by result"
                  as="textarea"
                  className="mono"
                  rows={3}
                  value={rule.outputMapping}
                  problem={problemAt('outputMapping')}
                  hint='JSON, such as {"yes": "send", "no": "ask"}.'
                  onChange={(event) => change(index, { outputMapping: event.target.value })}
                />
                <Field
                  label="Next tool otherwise"
                  value={rule.defaultChild}
                  problem={problemAt('defaultChild')}
                  onChange={(event) => change(index, { defaultChild: event.target.value })}
                />
                <label className="check">
                  <input
                    type="checkbox"
                    checked={rule.requireMapping}
                    onChange={(event) => change(index, { requireMapping: event.target.checked })}
                  />
                  <span>No tool may follow a result that is not listed</span>
                </label>
              </>
            )}
            {fields.includes('prefilledArguments') && (
              <Field
                label="Fixed arguments"
                as="textarea"
                className="mono"
                rows={2}
                value={rule.prefilledArguments}
                problem={problemAt('prefilledArguments')}
                hint="JSON. They replace those of the model."
                onChange={(event) => change(index, { prefilledArguments: event.target.value })}
              />
            )}
            {!isAtField && <Problem>{problemOf(`toolRules.${index}`)}</Problem>}
            <Button look="quiet" onClick={() => set({ rules: rules.filter((_, at) => at !== index) })}>
              Remove rule {index + 1}
            </Button>
          </div>
        )
      })}
      {!rules.some((_, index) => problemOf(`toolRules.${index}`)) && <Problem>{problemOf('toolRules')}</Problem>}
      <div className="row">
        <Button icon="plus" onClick={() => set({ rules: [...rules, emptyRule] })}>
          Add rule
        </Button>
      </div>
    </fieldset>
  )
}
