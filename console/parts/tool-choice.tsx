import type { ReactNode } from 'react'

import { choiceOf, isBaseTool, type ApprovalChoice, type AgentForm, type SetForm } from '../data/agent-form.ts'
import type { AgentFormChoicesData } from '../data/documents.ts'
import { Problem } from './problem.tsx'

interface ToolChoiceProps {
  /** Undefined until they are known. */
  readonly tools: AgentFormChoicesData['tools']['nodes'] | undefined
  readonly form: AgentForm
  readonly set: SetForm
  readonly isNew: boolean
  readonly problem: string | undefined
}

/** Which tools the agent has, and whether their calls need approval. */
export function ToolChoice({ tools, form, set, isNew, problem }: ToolChoiceProps): ReactNode {
  function choose(id: string, choice: ApprovalChoice | undefined): void {
    const { [id]: _, ...others } = form.tools
    set({ tools: choice ? { ...others, [id]: choice } : others })
  }
  return (
    <fieldset>
      <legend>Tools</legend>
      {isNew && (
        <label className="check">
          <input
            type="checkbox"
            checked={form.includeBaseTools}
            onChange={(event) => set({ includeBaseTools: event.target.checked })}
          />
          <span>Give it the built-in memory tools</span>
        </label>
      )}
      {tools?.length === 0 && <p className="quiet">There are no tools yet. Make one on the Tools page.</p>}
      <div className="scroll-list" role="group" aria-label="Tools of the agent" tabIndex={0}>
        {tools?.map((tool) => {
          const choice = choiceOf(form, tool)
          return (
            <div key={tool.id} className="choice-row">
              <label className="check">
                <input
                  type="checkbox"
                  checked={choice !== undefined}
                  disabled={isBaseTool(form, tool)}
                  onChange={(event) => choose(tool.id, event.target.checked ? 'DEFAULT' : undefined)}
                />
                <span>
                  <span className="mono">{tool.name}</span> <span className="quiet clamp">{tool.description}</span>
                </span>
              </label>
              {choice && tool.kind !== 'CLIENT' && (
                <select
                  aria-label={`Approval of ${tool.name}`}
                  value={choice}
                  onChange={(event) => choose(tool.id, event.target.value as ApprovalChoice)}
                >
                  <option value="DEFAULT">
                    {tool.approvalCondition !== null
                      ? 'Approval on its condition'
                      : tool.requiresApproval
                        ? 'Approval, as the tool says'
                        : 'No approval, as the tool says'}
                  </option>
                  <option value="ALWAYS">Always needs approval</option>
                  <option value="NEVER">Never needs approval</option>
                </select>
              )}
            </div>
          )
        })}
      </div>
      <Problem>{problem}</Problem>
    </fieldset>
  )
}
