import { useState, type ReactNode } from 'react'

import type { ApiScope } from '../../client/schema-types.ts'
import { useClient } from '../../react/client-context.ts'
import { bind } from '../data/bind.ts'
import { CreateApiKey } from '../data/documents.ts'
import { useAction } from '../data/use-action.ts'
import { useKeptForm } from '../data/use-kept.ts'
import { Check } from './check.tsx'
import { Dialog } from './dialog.tsx'
import { SecretDialog } from './secret-dialog.tsx'
import { Field } from './field.tsx'
import { Form } from './form.tsx'

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
  const { text } = bind({ ...kept, problemOf: create.problemOf })
  if (secret !== undefined) {
    return (
      <SecretDialog title="The new key" secret={secret} copy="Copy key" onClose={onClose}>
        Copy it now: it cannot be shown again.
      </SecretDialog>
    )
  }
  return (
    <Dialog title="New key" isHeld={create.isBusy} onClose={onClose}>
      <Form action={create} onSubmit={create.run} submit="Create key" kept={kept}>
        {closesServer && (
          <p className="notice">
            Creating a key closes this server: from its next start on, it accepts only requests with a key, even after
            this one is revoked.
          </p>
        )}
        <Field label="Name" autoFocus required hint="Decisions carry this name." {...text('name')} />
        <fieldset className="stack">
          <legend className="label">Scopes</legend>
          {scopes.map(([scope, label]) => (
            <Check
              key={scope}
              label={`${scope}: ${label}`}
              checked={chosen.includes(scope)}
              onChange={(event) => {
                const others = chosen.filter((one) => one !== scope)
                kept.set({ scopes: event.target.checked ? [...others, scope] : others })
              }}
            />
          ))}
        </fieldset>
      </Form>
    </Dialog>
  )
}
