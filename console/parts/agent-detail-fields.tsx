import type { ReactNode } from 'react'

import type { AgentFields } from '../data/agent-form.ts'
import { bind } from '../data/bind.ts'
import { Check } from './check.tsx'
import { Field } from './field.tsx'

/** The archive, debugging, and labels to find the agent by. */
export function AgentDetailFields({ fields }: { readonly fields: AgentFields }): ReactNode {
  const { text, check } = bind(fields)
  return (
    <>
      <fieldset>
        <legend>Archive</legend>
        <Field
          label="Embedding model"
          className="mono"
          placeholder="none"
          hint="Finds texts of the archive by meaning, such as demo/embedding. Without one, they are found by their words."
          {...text('embeddingModel')}
        />
      </fieldset>
      <fieldset>
        <legend>Debugging</legend>
        <Check
          label="Keep requests and responses"
          hint="The run page then shows what each step was sent."
          {...check('keepRequests')}
        />
        <Check
          label="Show times to the model"
          hint="It is told when messages and tool results happened."
          {...check('tellTimes')}
        />
      </fieldset>
      <fieldset>
        <legend>Labels</legend>
        <Field label="Description" hint="For people." {...text('description')} />
        <div className="two">
          <Field label="Tags" hint="Separated by commas." {...text('tags')} />
          <Field
            label="Time zone"
            placeholder="UTC"
            hint="In which it is told the time, such as Europe/Berlin."
            {...text('timezone')}
          />
        </div>
        <Field
          label="Metadata"
          as="textarea"
          className="mono"
          rows={2}
          hint="A JSON object for your own use."
          {...text('metadata')}
        />
      </fieldset>
    </>
  )
}
