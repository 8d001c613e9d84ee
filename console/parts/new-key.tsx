import { useState, type ReactNode } from 'react'

import type { ApiScope } from '../../client/schema-types.ts'
import { useClient } from '../../react/client-context.ts'
import { CreateApiKey } from '../data/documents.ts'
import { useAction } from '../data/use-action.ts'
import { useKeptForm } from '../data/use-kept.ts'
import { Button } from './button.tsx'
import { CopyButton } from './copy-button.tsx'
import { Dialog } from './dialog.tsx'
import { Field } from './field.tsx'
import { Problem } from './problem.tsx'
import { SubmitRow } from './submit-row.tsx'

const scopes: readonly (readonly [ApiScope, string])[] = [
  ['READ', 'Read and watch'],
  ['RUN', 'Send messages, cancel and retry runs'],
  ['APPROVE', 'Approve and deny tool calls'],
  ['MANAGE', 'Manage agents, tools, memory and keys'],
]

interface NewKeyForm {
  readonly name: string
  readonly scopes: readonly ApiScope[]
}

interface NewKeyProps {
  /** Whether the server is open and has no key that works: this one will be needed for everything. */
  readonly closesServer: boolean
  readonly onClose: () => void
}

/** Creates a key and shows its secret, once. */
export function NewKey({ closesServer, onClose }: NewKeyProps): ReactNode {
  const client = useClient()
  const kept = useKeptForm<NewKeyForm>('key.new', {
    name: '',
    scopes: closesServer ? scopes.map(([scope]) => scope) : ['READ', 'RUN'],
  })
  const { name, scopes: chosen } = kept.form
  const [secret, setSecret] = useState<string>()
  const create = useAction(async () => {
    const { createApiKey } = await client.request(CreateApiKey, { input: { name, scopes: chosen } })
    kept.forget()
    setSecret(createApiKey!.secret)
  })
  if (secret !== undefined) {
    return (
      <Dialog title="The new key" isHeld onClose={onClose}>
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
    <Dialog title="New key" isHeld={create.isBusy} onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          create.run()
        }}
      >
        {closesServer && (
          <p className="notice">
            Creating a key closes this server: from its next start on, it accepts only requests with a key, even after
            this one is revoked.
          </p>
        )}
        <Field
          label="Name"
          value={name}
          autoFocus
          required
          problem={create.field?.endsWith('name') ? create.problem : undefined}
          hint="Decisions carry this name."
          onChange={(event) => kept.set({ name: event.target.value })}
        />
        <fieldset className="stack">
          <legend className="label">Scopes</legend>
          {scopes.map(([scope, label]) => (
            <label key={scope} className="check">
              <input
                type="checkbox"
                checked={chosen.includes(scope)}
                onChange={(event) => {
                  const others = chosen.filter((one) => one !== scope)
                  kept.set({ scopes: event.target.checked ? [...others, scope] : others })
                }}
              />
              <span>
                {scope}: {label}
              </span>
            </label>
          ))}
        </fieldset>
        {!create.field?.endsWith('name') && <Problem>{create.problem}</Problem>}
        <SubmitRow form={kept} isBusy={create.isBusy}>
          Create key
        </SubmitRow>
      </form>
    </Dialog>
  )
}
