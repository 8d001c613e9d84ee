import { useEffect, useRef, useState, type ReactNode } from 'react'

import { useClient } from '../../react/client-context.ts'
import { newKey } from '../../client/new-key.ts'
import { changedFields, choiceOf, fieldsInConflict, formOf, namesOf, pick, type AgentForm } from '../data/agent-form.ts'
import { AgentForm as AgentFormQuery, AgentFormChoices, DeleteAgent, type AgentSettings } from '../data/documents.ts'
import { createAgent, updateAgent } from '../data/save-agent.ts'
import { Refused, useAction } from '../data/use-action.ts'
import { useGo } from '../data/use-here.ts'
import { useKept, useKeptForm } from '../data/use-kept.ts'
import { useOnce } from '../data/use-once.ts'
import { useQuery } from '../data/use-query.ts'
import { BlockChoice } from '../parts/block-choice.tsx'
import { Button } from '../parts/button.tsx'
import { CompactionFields } from '../parts/compaction-fields.tsx'
import { Conflict } from '../parts/conflict.tsx'
import { Confirm } from '../parts/confirm.tsx'
import { DiscardButton } from '../parts/discard-button.tsx'
import { Field } from '../parts/field.tsx'
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

/** The paths of the input fields that show their own problem. */
const placed = [
  'name',
  'description',
  'model',
  'instructions',
  'tools',
  'blocks',
  'blockIds',
  'toolRules',
  'modelSettings.temperature',
  'modelSettings.maxOutputTokens',
  'modelSettings.contextWindow',
  'modelSettings.reasoningEffort',
  'modelSettings.reasoningBudget',
  'modelSettings.responseSchema',
  'modelSettings.fallbacks',
  'compaction.keepRatio',
  'compaction.model',
  'compaction.prompt',
  'frequency',
  'tags',
  'timezone',
  'metadata',
] as const

const isWithin = (path: string, whole: string): boolean => path === whole || path.startsWith(`${whole}.`)

/**
 * Without the names of the mutation's arguments. The server writes an index as `.0` or, if the type is wrong, `[0]`.
 */
const pathOf = (field: string): string => field.replace(/^input\.(agent\.)?/, '').replaceAll(/\[(\d+)\]/g, '.$1')

/** Takes the person to what was refused, which may be screens away from the button. */
function showRefused(form: HTMLFormElement): void {
  const place = form.querySelector<HTMLElement>('[aria-invalid=true], fieldset [role=alert]')
  const control = place?.matches('[role=alert]')
    ? place.closest('[role=group], fieldset')?.querySelector<HTMLElement>('input, select, textarea, button')
    : place
  control?.focus({ preventScroll: true })
  place?.scrollIntoView({ block: 'center' })
}

/** The latest attempt to create an agent. */
interface Attempt {
  readonly key: string
  readonly name: string
}

function AgentFormBody({ agent }: { readonly agent: AgentSettings | undefined }): ReactNode {
  const client = useClient()
  const go = useGo()
  const choices = useQuery(AgentFormChoices, {})
  const [isDeleting, setDeleting] = useState(false)
  const [stored, setStored] = useState(() => formOf(agent))
  const place = `agent.${agent?.id ?? 'new'}`
  const kept = useKeptForm<AgentForm>(place, stored)
  // The fields that the person has changed, as they were before. They are kept with the changes: if someone else saves
  // while the person is on another page, the change was still made to the older value.
  const [keptBase, setKeptBase] = useKept<Partial<AgentForm>>(`${place}.base`)
  const base = { ...stored, ...keptBase }
  const changed = changedFields(kept.form, base)
  const form = { ...stored, ...pick(kept.form, changed) }
  const [theirs, setTheirs] = useState<Partial<AgentForm>>()

  const keepBase = (fields: readonly string[]): void => setKeptBase({ ...pick(stored, fields), ...pick(base, changed) })
  const set = (part: Partial<AgentForm>): void => {
    keepBase(Object.keys(part))
    kept.set(part)
    // The problem names a rule or block by its number.
    const isFewer = (field: 'rules' | 'newBlocks'): boolean => (part[field] ?? form[field]).length < form[field].length
    if (isFewer('rules') || isFewer('newBlocks')) save.clear()
  }
  const haveSeen = (part: Partial<AgentForm>): void => setKeptBase((before) => ({ ...before, ...part }))
  const forget = (): void => {
    save.clear()
    kept.forget()
    setKeptBase(undefined)
    setTheirs(undefined)
  }
  const [attempt, setAttempt] = useKept<Attempt>('agent.attempt')
  // What an attempt has made before it failed is not made again by the next one.
  const blockMade = (id: string): void => {
    keepBase(['blockIds', 'newBlocks'])
    kept.set((now) => ({ newBlocks: now.newBlocks.slice(1), blockIds: [...now.blockIds, id] }))
    void choices.refetch()
  }
  const create = async (): Promise<string> => {
    // The server may have made the agent although its answer was lost. The same key then finds that agent.
    const mine = attempt?.name === form.name ? attempt : { key: newKey(), name: form.name }
    setAttempt(mine)
    const id = await createAgent(client, form, mine.key)
    setAttempt(undefined)
    return id
  }
  /** `seen` is what someone else has saved and the person wants to replace. Returns whether the form is saved. */
  const update = async (id: string, seen: Partial<AgentForm>): Promise<boolean> => {
    const { agent: now } = await client.request(AgentFormQuery, { id })
    if (!now) throw new Refused('Someone else has deleted this agent.')
    const before = { ...base, ...seen }
    const latest = formOf(now)
    const conflicts = fieldsInConflict(form, before, latest)
    if (conflicts.length === 0) await updateAgent(client, { agent: now, form, base: before, blockMade })
    else {
      setStored(latest)
      setTheirs(pick(latest, conflicts))
    }
    return conflicts.length === 0
  }
  const save = useAction(async (seen: Partial<AgentForm>) => {
    setTheirs(undefined)
    if (agent && !(await update(agent.id, seen))) return
    const id = agent?.id ?? (await create())
    forget()
    go(`/agents/${id}`)
  })
  const formElement = useRef<HTMLFormElement>(null)
  useEffect(() => {
    if (save.problem) showRefused(formElement.current!)
  }, [save.problem, save.field])
  const remove = async (): Promise<void> => {
    await client.request(DeleteAgent, { input: { id: agent!.id } })
    go('/agents')
  }
  const refused = pathOf(save.field ?? '')
  const isPlaced = placed.some((path) => isWithin(refused, path))
  const problemOf = (path: string): string | undefined => (isWithin(refused, path) ? save.problem : undefined)

  const models = choices.data?.models ?? []
  // People look for the tools that they made.
  const tools = choices.data?.tools.nodes.toSorted(
    (one, other) => Number(one.kind === 'BUILTIN') - Number(other.kind === 'BUILTIN'),
  )
  return (
    <Page
      title={agent ? `Edit ${agent.name}` : 'New agent'}
      actions={
        agent && (
          <Button look="danger" onClick={() => setDeleting(true)}>
            Delete agent
          </Button>
        )
      }
    >
      <form
        ref={formElement}
        className="form"
        onSubmit={(event) => {
          event.preventDefault()
          save.run({})
        }}
      >
        <fieldset>
          <legend>Who it is</legend>
          <div className="two">
            <Field
              label="Name"
              value={form.name}
              autoFocus={!agent}
              problem={problemOf('name')}
              onChange={(event) => set({ name: event.target.value })}
            />
            <Field
              label="Model"
              list="models"
              className="mono"
              value={form.model}
              placeholder="provider/name"
              problem={problemOf('model')}
              hint="Choose one, or write any model of a configured provider."
              onChange={(event) => set({ model: event.target.value })}
            />
          </div>
          <datalist id="models">
            {models.map((model) => (
              <option key={model.handle} value={model.handle}>
                {model.isConfigured ? undefined : 'no key'}
              </option>
            ))}
          </datalist>
          <Field
            label="Description"
            value={form.description}
            problem={problemOf('description')}
            hint="For people."
            onChange={(event) => set({ description: event.target.value })}
          />
          <Field
            label="Instructions"
            as="textarea"
            rows={7}
            value={form.instructions}
            problem={problemOf('instructions')}
            hint="What the model is told before everything else."
            onChange={(event) => set({ instructions: event.target.value })}
          />
        </fieldset>
        <ToolChoice tools={tools} form={form} set={set} isNew={!agent} problem={problemOf('tools')} />
        <BlockChoice blocks={choices.data?.blocks.nodes ?? []} form={form} set={set} problemOf={problemOf} />
        <RuleEditor
          form={form}
          set={set}
          toolNames={(tools ?? []).filter((tool) => choiceOf(form, tool)).map(({ name }) => name)}
          problemOf={problemOf}
        />
        <ModelSettingsFields form={form} set={set} problemOf={problemOf} />
        <CompactionFields form={form} set={set} problemOf={problemOf} />
        <fieldset>
          <legend>Debugging</legend>
          <label className="check">
            <input
              type="checkbox"
              checked={form.keepRequests}
              onChange={(event) => set({ keepRequests: event.target.checked })}
            />
            <span>
              Keep requests and responses{' '}
              <span className="quiet">The run page then shows what each step was sent.</span>
            </span>
          </label>
          <label className="check">
            <input
              type="checkbox"
              checked={form.tellTimes}
              onChange={(event) => set({ tellTimes: event.target.checked })}
            />
            <span>Tell it when messages and tool results happened</span>
          </label>
        </fieldset>
        <fieldset>
          <legend>Labels</legend>
          <div className="two">
            <Field
              label="Tags"
              value={form.tags}
              hint="Separated by commas."
              problem={problemOf('tags')}
              onChange={(event) => set({ tags: event.target.value })}
            />
            <Field
              label="Time zone"
              value={form.timezone}
              placeholder="UTC"
              problem={problemOf('timezone')}
              hint="In which it is told the time, such as Europe/Berlin."
              onChange={(event) => set({ timezone: event.target.value })}
            />
          </div>
          <Field
            label="Metadata"
            as="textarea"
            className="mono"
            rows={2}
            value={form.metadata}
            problem={problemOf('metadata')}
            hint="A JSON object for your own use."
            onChange={(event) => set({ metadata: event.target.value })}
          />
        </fieldset>
        {choices.error && <Problem>{choices.error.message}</Problem>}
        <div className="sticky-actions">
          <Button look="primary" type="submit" isBusy={save.isBusy}>
            {agent ? 'Save' : 'Create agent'}
          </Button>
          <Button onClick={() => history.back()}>Back</Button>
          <DiscardButton form={{ hasChanged: changed.length > 0, forget }} />
          {theirs && (
            <Conflict
              isBusy={save.isBusy}
              onTake={() => {
                kept.set(theirs)
                haveSeen(theirs)
                setTheirs(undefined)
              }}
              onReplace={() => {
                haveSeen(theirs)
                save.run(theirs)
              }}
            >
              <p>Someone else has changed the same fields: {namesOf(theirs)}.</p>
            </Conflict>
          )}
          {save.problem && !isPlaced && <Problem>{save.problem}</Problem>}
          {save.problem && isPlaced && <span className="field-problem">One field needs your attention.</span>}
        </div>
      </form>
      {isDeleting && (
        <Confirm title={`Delete ${agent!.name}?`} verb="Delete" act={remove} onClose={() => setDeleting(false)}>
          Its conversations and runs are deleted with it. Tools and shared blocks stay. This cannot be undone.
        </Confirm>
      )}
    </Page>
  )
}
