import { useState } from 'react'

import { useClient } from '../../react/client-context.ts'
import { newKey } from '../../client/new-key.ts'
import { changedFields, fieldsInConflict, formOf, pick, type AgentFields, type AgentForm } from './agent-form.ts'
import { AgentForm as AgentFormQuery, type AgentSettings } from './documents.ts'
import { createAgent, updateAgent } from './save-agent.ts'
import { Refused, useAction, type Action } from './use-action.ts'
import { useKept, useKeptForm } from './use-kept.ts'

interface AgentFormState {
  readonly fields: AgentFields
  readonly save: Action<[]>
  /** For the button that gives up what was typed. */
  readonly kept: { readonly hasChanged: boolean; forget(): void }
  /** The fields that someone else has changed too, as they are stored now. Undefined if there are none. */
  readonly theirs: Partial<AgentForm> | undefined
  takeTheirs(): void
  replaceTheirs(): void
}

interface AgentFormEvents {
  /** The form is saved. */
  readonly onSaved: (id: string) => void
  /** A block was made, also if what follows fails. */
  readonly onBlockMade: () => void
}

/** What a person types into the form of an agent, and how it is saved without undoing what others save meanwhile. */
export function useAgentForm(agent: AgentSettings | undefined, on: AgentFormEvents): AgentFormState {
  const client = useClient()
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
  /** The latest attempt to create an agent. */
  const [attempt, setAttempt] = useKept<{ readonly key: string; readonly name: string }>('agent.attempt')

  const keepBase = (fields: readonly string[]): void => setKeptBase({ ...pick(stored, fields), ...pick(base, changed) })
  const haveSeen = (part: Partial<AgentForm>): void => setKeptBase((before) => ({ ...before, ...part }))
  function set(part: Partial<AgentForm>): void {
    keepBase(Object.keys(part))
    kept.set(part)
    // The problem names a rule or block by its number.
    const isFewer = (field: 'rules' | 'newBlocks'): boolean => (part[field] ?? form[field]).length < form[field].length
    if (isFewer('rules') || isFewer('newBlocks')) save.clear()
  }
  function forget(): void {
    save.clear()
    kept.forget()
    setKeptBase(undefined)
    setTheirs(undefined)
  }
  // What an attempt has made before it failed is not made again by the next one.
  function blockMade(id: string): void {
    keepBase(['blockIds', 'newBlocks'])
    kept.set((now) => ({ newBlocks: now.newBlocks.slice(1), blockIds: [...now.blockIds, id] }))
    on.onBlockMade()
  }
  async function create(): Promise<string> {
    // The server may have made the agent although its answer was lost. The same key then finds that agent.
    const mine = attempt?.name === form.name ? attempt : { key: newKey(), name: form.name }
    setAttempt(mine)
    const id = await createAgent(client, form, mine.key)
    setAttempt(undefined)
    return id
  }
  /** `seen` is what someone else has saved and the person wants to replace. Returns whether the form is saved. */
  async function update(id: string, seen: Partial<AgentForm>): Promise<boolean> {
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
    on.onSaved(id)
  })

  return {
    fields: { form, set, problemOf: save.problemOf },
    save: { ...save, run: () => save.run({}) },
    kept: { hasChanged: changed.length > 0, forget },
    theirs,
    takeTheirs() {
      kept.set(theirs!)
      haveSeen(theirs!)
      setTheirs(undefined)
    },
    replaceTheirs() {
      haveSeen(theirs!)
      save.run(theirs!)
    },
  }
}
