import type { ReactNode } from 'react'

import { choiceOf, isBaseTool, type AgentFields, type ApprovalChoice } from '../data/agent-form.ts'
import { bind } from '../data/bind.ts'
import type { ToolOption } from '../data/documents.ts'
import type { ToolOptions } from '../data/use-tool-options.ts'
import { Check } from './check.tsx'
import { Problem } from './problem.tsx'
import { ShowMore } from './show-more.tsx'

interface ToolChoiceProps {
  readonly options: ToolOptions
  readonly fields: AgentFields
  readonly isNew: boolean
}

/** With fewer, a search takes more time than a look. */
const fewest = 8

/** Which tools the agent has, and whether their calls need approval. */
export function ToolChoice({ options, fields, isNew }: ToolChoiceProps): ReactNode {
  const { form, set, problemOf } = fields
  const { search, setSearch, pages, shown } = options
  function choose(id: string, choice: ApprovalChoice | undefined): void {
    const { [id]: _, ...others } = form.tools
    set({ tools: choice ? { ...others, [id]: choice } : others })
  }
  return (
    <fieldset>
      <legend>Tools</legend>
      {isNew && <Check label="Include the memory tools" {...bind(fields).check('includeBaseTools')} />}
      {(search !== '' || (shown?.length ?? 0) > fewest) && (
        <input
          type="search"
          aria-label="Search tools"
          placeholder="Search tools"
          value={search}
          onChange={(event) => setSearch(event.target.value)}
        />
      )}
      {shown?.length === 0 && (
        <p className="quiet">{search ? `No tool is called “${search}”.` : 'There are no tools yet.'}</p>
      )}
      <div className="scroll-list" role="group" aria-label="Tools of the agent" tabIndex={0}>
        {shown?.map((tool) => {
          const choice = choiceOf(form, tool)
          return (
            <div key={tool.id} className="choice-row">
              <Check
                label={<span className="mono">{tool.name}</span>}
                hint={tool.description}
                checked={choice !== undefined}
                disabled={isBaseTool(form, tool)}
                onChange={(event) => choose(tool.id, event.target.checked ? 'DEFAULT' : undefined)}
              />
              {choice && tool.kind !== 'CLIENT' && (
                <select
                  aria-label={`Approval of ${tool.name}`}
                  value={choice}
                  onChange={(event) => choose(tool.id, event.target.value as ApprovalChoice)}
                >
                  <option value="DEFAULT">{defaultOf(tool)}</option>
                  <option value="ALWAYS">Always needs approval</option>
                  <option value="NEVER">Never needs approval</option>
                </select>
              )}
            </div>
          )
        })}
        <ShowMore of={pages} label="Show more tools" />
      </div>
      <Problem>{pages.error?.message ?? problemOf('tools')}</Problem>
    </fieldset>
  )
}

/** What the tool itself says about approval. */
function defaultOf({ approvalCondition, requiresApproval }: ToolOption): string {
  if (approvalCondition !== null) return 'Default: on a condition'
  return requiresApproval ? 'Default: needs approval' : 'Default: no approval'
}
