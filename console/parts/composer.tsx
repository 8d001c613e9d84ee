import { useRef, useState, type KeyboardEvent, type ReactNode } from 'react'

import type { WhenBusy } from '../../client/schema-types.ts'
import type { Conversation } from '../../react/use-conversation.ts'
import { Refused, useAction } from '../data/use-action.ts'
import { Button } from './button.tsx'
import { Problem } from './problem.tsx'

/** Where a person writes. Enter sends, Shift+Enter starts a line. */
export function Composer({ conversation }: { readonly conversation: Conversation }): ReactNode {
  const [text, setText] = useState('')
  const [whenBusy, setWhenBusy] = useState<WhenBusy>('ENQUEUE')
  const area = useRef<HTMLTextAreaElement>(null)
  const { isActive, pendingCalls } = conversation
  const cancel = useAction(async () => {
    const result = await conversation.cancel()
    if (result.__typename !== 'CancelRunSuccess') throw new Refused(result.message)
  })

  function send(event?: { preventDefault(): void }): void {
    event?.preventDefault()
    const message = text.trim()
    if (message === '') return
    setText('')
    if (area.current) area.current.style.height = ''
    conversation.send(message, { whenBusy }).catch(() => {})
  }

  function pressed(event: KeyboardEvent): void {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
    event.preventDefault()
    send()
  }

  return (
    <form className="composer" onSubmit={send}>
      <Problem>{cancel.problem}</Problem>
      <div className="composer-box">
        <textarea
          ref={area}
          aria-label="Message"
          rows={1}
          placeholder={pendingCalls.length > 0 ? 'Decide above, or write a message' : 'Write a message'}
          value={text}
          onChange={(event) => {
            setText(event.target.value)
            event.target.style.height = 'auto'
            event.target.style.height = `${Math.min(event.target.scrollHeight, 240)}px`
          }}
          onKeyDown={pressed}
        />
        {isActive && (
          <Button icon="stop" isBusy={cancel.isBusy} onClick={() => cancel.run()}>
            Cancel run
          </Button>
        )}
        <Button look="primary" icon="send" type="submit" disabled={text.trim() === ''}>
          Send
        </Button>
      </div>
      {isActive && (
        <label className="when-busy">
          While a run is active, a message{' '}
          <select value={whenBusy} onChange={(event) => setWhenBusy(event.target.value as WhenBusy)}>
            <option value="ENQUEUE">waits for its turn</option>
            <option value="INTERRUPT">interrupts the run</option>
          </select>
        </label>
      )}
    </form>
  )
}
