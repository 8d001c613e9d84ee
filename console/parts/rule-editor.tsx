import type { ReactNode } from 'react'

import type { ToolRuleKind } from '../../client/schema-types.ts'
import { emptyRule, ruleFieldsOf, type AgentFields, type RuleDraft } from '../data/agent-form.ts'
import { bind, type Fields, type ProblemOf } from '../data/bind.ts'
import { Button } from './button.tsx'
import { Check } from './check.tsx'
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
  readonly fields: AgentFields
  readonly toolNames: readonly string[]
}

/** The rules on tool calls. Each shows only the fields that its kind has. */
export function RuleEditor({ fields: { form, set, problemOf }, toolNames }: RuleEditorProps): ReactNode {
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
      {rules.map((rule, index) => (
        <Rule
          key={index}
          number={index + 1}
          fields={{
            form: rule,
            set: (part) => change(index, part),
            problemOf: (path) => problemOf(path ? `toolRules.${index}.${path}` : `toolRules.${index}`),
          }}
          onRemove={() => set({ rules: rules.filter((_, at) => at !== index) })}
        />
      ))}
      {!rules.some((_, index) => problemOf(`toolRules.${index}`)) && <Problem>{problemOf('toolRules')}</Problem>}
      <div className="row">
        <Button icon="plus" onClick={() => set({ rules: [...rules, emptyRule] })}>
          Add rule
        </Button>
      </div>
    </fieldset>
  )
}

interface RuleProps {
  readonly number: number
  /** The problem at the empty path is that of the whole rule. */
  readonly fields: Fields<RuleDraft> & { readonly problemOf: ProblemOf }
  readonly onRemove: () => void
}

function Rule({ number, fields, onRemove }: RuleProps): ReactNode {
  const { text, check } = bind(fields)
  const names = ruleFieldsOf(fields.form.kind)
  // A checkbox shows no problem of its own.
  const shown = (['tool', 'kind', ...names] as const).filter((name) => name !== 'requireMapping')
  const has = (name: (typeof names)[number]): boolean => names.includes(name)
  return (
    <div className="rule-row" role="group" aria-label={`Rule ${number}`}>
      <div className="two">
        <Field label="Tool" list="rule-tools" {...text('tool')} />
        <Field label="Rule" as="select" {...text('kind')}>
          {kinds.map(([kind, label]) => (
            <option key={kind} value={kind}>
              {label}
            </option>
          ))}
        </Field>
      </div>
      {has('children') && <Field label="Tools that may follow" hint="Separated by commas." {...text('children')} />}
      {has('maxCalls') && <Field label="Calls in one run" inputMode="numeric" {...text('maxCalls')} />}
      {has('outputMapping') && (
        <>
          <Field
            label="Next tool by result"
            as="textarea"
            className="mono"
            rows={3}
            hint='JSON, such as {"yes": "send", "no": "ask"}.'
            {...text('outputMapping')}
          />
          <Field label="Next tool otherwise" {...text('defaultChild')} />
          <Check label="No tool may follow a result that is not listed" {...check('requireMapping')} />
        </>
      )}
      {has('prefilledArguments') && (
        <Field
          label="Fixed arguments"
          as="textarea"
          className="mono"
          rows={2}
          hint="JSON. They replace those of the model."
          {...text('prefilledArguments')}
        />
      )}
      {!shown.some(fields.problemOf) && <Problem>{fields.problemOf('')}</Problem>}
      <Button look="quiet" onClick={onRemove}>
        Remove rule {number}
      </Button>
    </div>
  )
}
