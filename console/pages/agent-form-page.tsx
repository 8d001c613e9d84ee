import { useState, type ReactNode } from 'react'
import { Link } from 'wouter'

import { useClient } from '../../react/client-context.ts'
import { choiceOf, namesOf } from '../data/agent-form.ts'
import { bind } from '../data/bind.ts'
import { AgentForm as AgentFormQuery, AgentFormChoices, DeleteAgent, type AgentSettings } from '../data/documents.ts'
import { useAgentForm } from '../data/use-agent-form.ts'
import { useGo } from '../data/use-here.ts'
import { useOnce } from '../data/use-once.ts'
import { useQuery } from '../data/use-query.ts'
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
  // People look for the tools that they made.
  const tools = choices.data?.tools.nodes.toSorted(
    (one, other) => Number(one.kind === 'BUILTIN') - Number(other.kind === 'BUILTIN'),
  )
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
          <legend>Who it is</legend>
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
        <ToolChoice tools={tools} fields={fields} isNew={!agent} />
        <BlockChoice blocks={choices.data?.blocks.nodes ?? []} fields={fields} />
        <RuleEditor
          fields={fields}
          toolNames={(tools ?? []).filter((tool) => choiceOf(fields.form, tool)).map(({ name }) => name)}
        />
        <ModelSettingsFields fields={fields} />
        <CompactionFields fields={fields} />
        <AgentDetailFields fields={fields} />
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
