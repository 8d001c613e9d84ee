import { useState, type ReactNode } from 'react'

import { signIn } from '../data/session.ts'
import { useAction } from '../data/use-action.ts'
import { useTitle } from '../data/use-title.ts'
import { Button } from '../parts/button.tsx'
import { Field } from '../parts/field.tsx'
import { ThemeChoice } from '../parts/theme-choice.tsx'

export function SignInPage({ notice }: { readonly notice: string | undefined }): ReactNode {
  useTitle('Sign in')
  const [key, setKey] = useState('')
  const enter = useAction(async () => {
    if (key.trim() === '') throw new Error('Enter an API key.')
    await signIn(key.trim())
  })
  return (
    <main className="alone">
      <form
        className="sign-in"
        onSubmit={(event) => {
          event.preventDefault()
          enter.run()
        }}
      >
        <div className="brand">
          <img src="/icon.svg" alt="" width="32" height="32" />
          <h1>Holdpoint</h1>
        </div>
        {notice && !enter.problem && (
          <p role="status" className="notice">
            {notice}
          </p>
        )}
        <Field
          label="API key"
          type="password"
          value={key}
          onChange={(event) => setKey(event.target.value)}
          autoFocus
          autoComplete="current-password"
          placeholder="hp_…"
          problem={enter.problem}
          hint={
            <>
              The value of <code>HOLDPOINT_API_KEY</code>, or a key made in the settings. It is kept in this browser
              until you sign out.
            </>
          }
        />
        <Button look="primary" type="submit" isBusy={enter.isBusy}>
          Sign in
        </Button>
      </form>
      <ThemeChoice />
    </main>
  )
}
