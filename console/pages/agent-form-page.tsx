import { useState, type ReactNode } from 'react'
import { Link } from 'wouter'

import { useClient } from '../../react/client-context.ts'
import { changedFields, choiceOf, formOf, namesOf, pick } from '../data/agent-form.ts'
import { bind } from '../data/bind.ts'
import { AgentForm as AgentFormQuery, AgentFormChoices, DeleteAgent, type AgentSettings } from '../data/documents.ts'
import { useAgentForm } from '../data/use-agent-form.ts'
import { useGo } from '../data/use-here.ts'
import { useOnce } from '../data/use-once.ts'
import { useQuery } from '../data/use-query.ts'
import { useToolOptions } from '../data/use-tool-options.ts'
import { AgentDetailFields } from '../parts/agent-detail-fields.tsx'
import { BlockChoice } from '../parts/block-choice.tsx'
import { Button } from '../parts/button.tsx'
import { CompactionFields } from '../parts/compaction-fields.tsx'
import { Conflict } from '../parts/conflict.tsx'
import { Confirm } from '../parts/confirm.tsx'
import { Field } from '../parts/field.tsx'
import { Form } from '../parts/form.tsx'
import { ModelSettingsFields } from '../parts/model-settings-fields.tsx'
import { Page } from '../parts/page.tsx'
import { Problem } from '../parts/problem.tsx'
import { RuleEditor } from '../parts/rule-editor.tsx'
import { Skeleton } from '../parts/skeleton.tsx'
import { ToolChoice } from '../parts/tool-choice.tsx'
import { NotFoundPage } from './not-found-page.tsx'

export function AgentFormPage({ id }: { readonly id?: string }): ReactNode {
  const { data, error } = useOnce(AgentFormQuery, id === undefined ? null : { id })
  if (error && !data) return <Problem>{error.message}</Problem>
  if (id !== undefined && !data) return <Skeleton lines={10} />
  if (id !== undefined && !data?.agent) return <NotFoundPage what="agent" />
  return <AgentFormBody agent={data?.agent ?? undefined} />
}

/** What everyone sets. The other fields are folded away, with the names of those that are not at their defaults. */
const basic: readonly string[] = ['name', 'model', 'instructions', 'tools', 'includeBaseTools']

function AgentFormBody({ agent }: { readonly agent: AgentSettings | undefined }): ReactNode {
  const client = useClient()
  const go = useGo()
  const choices = useQuery(AgentFormChoices, {})
  const [isDeleting, setDeleting] = useState(false)
  const { fields, save, kept, theirs, ...conflict } = useAgentForm(agent, {
    onSaved: (id) => go(`/agents/${id}`),
    onBlockMade: () => void choices.refetch(),
  })
  const remove = async (): Promise<void> => {
    await client.request(DeleteAgent, { input: { id: agent!.id } })
    go('/agents')
  }
  const { text } = bind(fields)
  const given = agent?.tools.map(({ tool }) => tool) ?? []
  const options = useToolOptions(Object.keys(fields.form.tools), given)
  const advanced = changedFields(fields.form, formOf(undefined)).filter((field) => !basic.includes(field))
  return (
    <Page
      title={agent ? `Edit ${agent.name}` : 'New agent'}
      actions={
        agent && (
          <>
            <Link href={`/agents/${agent.id}/archive`} className="button quiet">
              Archive
            </Link>
            <Button look="danger" onClick={() => setDeleting(true)}>
              Delete agent
            </Button>
          </>
        )
      }
    >
      <Form
        isPage
        action={save}
        onSubmit={save.run}
        submit={agent ? 'Save' : 'Create agent'}
        kept={kept}
        buttons={<Button onClick={() => history.back()}>Back</Button>}
      >
        <fieldset>
          <legend>Basics</legend>
          <div className="two">
            <Field label="Name" autoFocus={!agent} {...text('name')} />
            <Field
              label="Model"
              list="models"
              className="mono"
              placeholder="provider/name"
              hint="Choose one, or write any model of a configured provider."
              {...text('model')}
            />
          </div>
          <datalist id="models">
            {choices.data?.models.map((model) => (
              <option key={model.handle} value={model.handle}>
                {model.isConfigured ? undefined : 'no key'}
              </option>
            ))}
          </datalist>
          <Field
            label="Instructions"
            as="textarea"
            rows={7}
            hint="What the model is told before everything else."
            {...text('instructions')}
          />
        </fieldset>
        <ToolChoice options={options} fields={fields} isNew={!agent} />
        <details className="advanced">
          <summary>
            Advanced{' '}
            <span className="quiet">
              {advanced.length > 0
                ? namesOf(pick(fields.form, advanced))
                : 'Memory, tool rules, model settings and more'}
            </span>
          </summary>
          <BlockChoice blocks={choices.data?.blocks.nodes ?? []} fields={fields} />
          <RuleEditor
            fields={fields}
            toolNames={[...options.known.values()].flatMap((tool) => (choiceOf(fields.form, tool) ? tool.name : []))}
          />
          <ModelSettingsFields fields={fields} />
          <CompactionFields fields={fields} />
          <AgentDetailFields fields={fields} />
        </details>
        <Problem>{choices.error?.message}</Problem>
        {theirs && (
          <Conflict isBusy={save.isBusy} onTake={conflict.takeTheirs} onReplace={conflict.replaceTheirs}>
            <p>Someone else has changed the same fields: {namesOf(theirs)}.</p>
          </Conflict>
        )}
      </Form>
      {isDeleting && (
        <Confirm title={`Delete ${agent!.name}?`} verb="Delete" act={remove} onClose={() => setDeleting(false)}>
          Its conversations and runs are deleted with it. Tools and shared blocks stay. This cannot be undone.
        </Confirm>
      )}
    </Page>
  )
}
