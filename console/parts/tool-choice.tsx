import type { ReactNode } from 'react'

import { choiceOf, isBaseTool, type AgentFields, type ApprovalChoice } from '../data/agent-form.ts'
import { bind } from '../data/bind.ts'
import type { AgentFormChoicesData } from '../data/documents.ts'
import { Check } from './check.tsx'
import { Problem } from './problem.tsx'

type Tool = AgentFormChoicesData['tools']['nodes'][number]

interface ToolChoiceProps {
  /** Undefined until they are known. */
  readonly tools: readonly Tool[] | undefined
  readonly fields: AgentFields
  readonly isNew: boolean
}

/** Which tools the agent has, and whether their calls need approval. */
export function ToolChoice({ tools, fields, isNew }: ToolChoiceProps): ReactNode {
  const { form, set, problemOf } = fields
  function choose(id: string, choice: ApprovalChoice | undefined): void {
    const { [id]: _, ...others } = form.tools
    set({ tools: choice ? { ...others, [id]: choice } : others })
  }
  return (
    <fieldset>
      <legend>Tools</legend>
      {isNew && <Check label="Give it the built-in memory tools" {...bind(fields).check('includeBaseTools')} />}
      {tools?.length === 0 && <p className="quiet">There are no tools yet. Make one on the Tools page.</p>}
      <div className="scroll-list" role="group" aria-label="Tools of the agent" tabIndex={0}>
        {tools?.map((tool) => {
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
      </div>
      <Problem>{problemOf('tools')}</Problem>
    </fieldset>
  )
}

/** What the tool itself says about approval. */
function defaultOf({ approvalCondition, requiresApproval }: Tool): string {
  if (approvalCondition !== null) return 'Default: on a condition'
  return requiresApproval ? 'Default: needs approval' : 'Default: no approval'
}
