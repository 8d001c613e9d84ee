import { useState, type ReactNode } from 'react'

import type { ApiScope } from '../../client/schema-types.ts'
import { useClient } from '../../react/client-context.ts'
import { CreateApiKey } from '../data/documents.ts'
import { useAction } from '../data/use-action.ts'
import { Button } from './button.tsx'
import { CopyButton } from './copy-button.tsx'
import { Dialog } from './dialog.tsx'
import { Field } from './field.tsx'
import { Problem } from './problem.tsx'

const scopes: readonly (readonly [ApiScope, string])[] = [
  ['READ', 'Read and watch'],
  ['RUN', 'Send messages, cancel and retry runs'],
  ['APPROVE', 'Approve and deny tool calls'],
  ['MANAGE', 'Manage agents, tools, memory and keys'],
]

/** Creates a key and shows its secret, once. */
export function NewKey({ onClose }: { readonly onClose: () => void }): ReactNode {
  const client = useClient()
  const [name, setName] = useState('')
  const [chosen, setChosen] = useState<ReadonlySet<ApiScope>>(new Set(['READ', 'RUN']))
  const [secret, setSecret] = useState<string>()
  const create = useAction(async () => {
    const { createApiKey } = await client.request(CreateApiKey, { input: { name, scopes: [...chosen] } })
    setSecret(createApiKey!.secret)
  })
  if (secret !== undefined) {
    return (
      <Dialog title="The new key" onClose={onClose}>
        <div className="stack">
          <p>Copy it now: it cannot be shown again.</p>
          <div className="secret">
            <span data-testid="secret">{secret}</span>
            <CopyButton text={secret} label="Copy key" />
          </div>
          <Button look="primary" onClick={onClose}>
            Done
          </Button>
        </div>
      </Dialog>
    )
  }
  return (
    <Dialog title="New key" onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          create.run()
        }}
      >
        <Field
          label="Name"
          value={name}
          autoFocus
          required
          problem={create.field?.endsWith('name') ? create.problem : undefined}
          hint="Decisions carry this name."
          onChange={(event) => setName(event.target.value)}
        />
        <fieldset className="stack">
          <legend className="label">Scopes</legend>
          {scopes.map(([scope, label]) => (
            <label key={scope} className="check">
              <input
                type="checkbox"
                checked={chosen.has(scope)}
                onChange={(event) => {
                  const next = new Set(chosen)
                  if (event.target.checked) next.add(scope)
                  else next.delete(scope)
                  setChosen(next)
                }}
              />
              <span>
                {scope}: {label}
              </span>
            </label>
          ))}
        </fieldset>
        {!create.field?.endsWith('name') && <Problem>{create.problem}</Problem>}
        <Button look="primary" type="submit" isBusy={create.isBusy}>
          Create key
        </Button>
      </form>
    </Dialog>
  )
}
