import type { ReactNode } from 'react'

import { useTurns } from '../data/turns.ts'
import { useAction } from '../data/use-action.ts'
import { usePagingFocus } from '../data/use-paging-focus.ts'
import { Button } from './button.tsx'

/** Switches between the versions of a turn, for everyone. Shows nothing if there is only one. */
export function Versions({ runId }: { readonly runId: string | null }): ReactNode {
  const turns = useTurns()
  const root = usePagingFocus(turns, runId)
  const select = useAction(async (id: string, by: -1 | 1) => turns!.select(id, by))
  const versions = turns?.turnOf(runId)?.versions ?? []
  const place = versions.findIndex(({ id }) => id === runId)
  if (!turns || versions.length < 2) return null
  const asked = versions.map(({ input }) => input.map(({ text }) => text).join('\n'))
  const step = (by: -1 | 1, label: string, icon: 'back' | 'forward'): ReactNode => {
    const other = versions[place + by]
    return (
      <Button
        look="quiet"
        icon={icon}
        className="small"
        aria-label={label}
        title={`${label}, for everyone`}
        disabled={!other || turns.isActive}
        isRepeatable
        isBusy={select.isBusy}
        onClick={() => other && select.run(other.id, by)}
      />
    )
  }
  return (
    <span ref={root} className="versions" role="group" aria-label="Versions of this turn">
      <span className="reveal">for everyone</span>
      {step(-1, 'Previous version', 'back')}
      <span>
        {place + 1} / {versions.length}
      </span>
      {step(1, 'Next version', 'forward')}
      {place > 0 && <span>{asked.indexOf(asked[place]!) < place ? 'regenerated' : 'edited'}</span>}
      {select.problem && <span className="field-problem">{select.problem}</span>}
    </span>
  )
}
