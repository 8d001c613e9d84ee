import { useLayoutEffect, useRef, useState, type ReactNode } from 'react'

import type { Action } from '../data/use-action.ts'
import { Button } from './button.tsx'
import { DiscardButton } from './discard-button.tsx'
import { Problem } from './problem.tsx'

interface FormProps {
  readonly action: Pick<Action<readonly unknown[]>, 'isBusy' | 'problem' | 'field'>
  readonly onSubmit: () => void
  /** What the button says. */
  readonly submit: string
  readonly look?: 'primary' | 'danger'
  readonly isDisabled?: boolean
  /** What was typed and not saved, which can be given up. */
  readonly kept?: Parameters<typeof DiscardButton>[0]['form']
  /** Further buttons beside the one that submits. */
  readonly buttons?: ReactNode
  /** A page of its own, whose buttons stay in view. */
  readonly isPage?: boolean
  readonly children: ReactNode
}

/**
 * A form whose action may be refused. The person is taken to the field that was refused, which may be screens away from
 * the button. A problem that no field shows is shown next to the button.
 */
export function Form({
  action,
  onSubmit,
  submit,
  look = 'primary',
  kept,
  buttons,
  children,
  ...rest
}: FormProps): ReactNode {
  const form = useRef<HTMLFormElement>(null)
  const [isPlaced, setPlaced] = useState(false)
  const { problem, field } = action
  useLayoutEffect(() => {
    const place = form.current!.querySelector<HTMLElement>('[aria-invalid=true], fieldset [role=alert]')
    setPlaced(place !== null)
    if (!problem || !place) return
    let folded: HTMLDetailsElement | null
    while ((folded = place.closest<HTMLDetailsElement>('details:not([open])'))) folded.open = true
    const control = place.matches('[role=alert]')
      ? place.closest('[role=group], fieldset')?.querySelector<HTMLElement>('input, select, textarea, button')
      : place
    control?.focus({ preventScroll: true })
    place.scrollIntoView({ block: rest.isPage ? 'center' : 'nearest' })
  }, [problem, field])
  return (
    <form
      ref={form}
      className={rest.isPage ? 'form' : 'stack'}
      onSubmit={(event) => {
        event.preventDefault()
        onSubmit()
      }}
    >
      {children}
      {!isPlaced && <Problem>{problem}</Problem>}
      <div className={rest.isPage ? 'sticky-actions' : 'row'}>
        <Button look={look} type="submit" isBusy={action.isBusy} disabled={rest.isDisabled}>
          {submit}
        </Button>
        {buttons}
        {kept && <DiscardButton form={kept} />}
        {rest.isPage && problem && isPlaced && (
          <span className="field-problem">Not saved: see what is marked above.</span>
        )}
      </div>
    </form>
  )
}
