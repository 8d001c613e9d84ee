import { useState, type ReactNode } from 'react'

import { Button } from './button.tsx'
import { Confirm } from './confirm.tsx'

/** Gives up what was typed into a form and not saved. Shown only if there is something. */
export function DiscardButton({
  form,
}: {
  readonly form: { readonly hasChanged: boolean; forget(): void }
}): ReactNode {
  const [isAsked, setAsked] = useState(false)
  if (!form.hasChanged) return null
  return (
    <>
      <Button look="quiet" onClick={() => setAsked(true)}>
        Discard changes
      </Button>
      {isAsked && (
        <Confirm
          title="Discard what you have typed?"
          verb="Discard"
          act={async () => form.forget()}
          onClose={() => setAsked(false)}
        >
          The form starts over with what is stored.
        </Confirm>
      )}
    </>
  )
}
