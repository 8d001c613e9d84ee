import { useState, type ReactNode, type SubmitEvent } from 'react'

import type { TranscriptEntry } from '../../client/index.ts' // In your app: 'holdpoint/client'
import { useConversation } from '../../react/index.ts' // In your app: 'holdpoint/react'

/** A conversation as it happens. It survives reloads and lost connections: everything shown comes from the server. */
export function Chat({ conversationId }: { readonly conversationId: string }): ReactNode {
  const { entries, pendingCalls, drafts, isActive, send, cancel, decide } = useConversation(conversationId)
  const [text, setText] = useState('')

  function submit(event: SubmitEvent): void {
    event.preventDefault()
    void send(text, { whenBusy: 'ENQUEUE' })
    setText('')
  }

  return (
    <section aria-label="Chat">
      {entries.map((entry) => (
        <Entry key={entry.id} entry={entry} />
      ))}
      {drafts.map(({ clientId, text, problem }) => (
        <p key={clientId}>
          <b>You</b> {text} <i>{problem ?? '…'}</i>
        </p>
      ))}
      {pendingCalls.map(({ id, name, arguments: args }) => (
        <p key={id} role="alert">
          May I call {name} with {JSON.stringify(args)}?{' '}
          <button onClick={() => void decide({ approve: { toolCallId: id } })}>Approve</button>{' '}
          <button onClick={() => void decide({ deny: { toolCallId: id, reason: 'The person said no.' } })}>Deny</button>
        </p>
      ))}
      <form onSubmit={submit}>
        <textarea aria-label="Message" value={text} onChange={(event) => setText(event.target.value)} />
        <button>Send</button>{' '}
        {isActive && (
          <button type="button" onClick={() => void cancel()}>
            Stop
          </button>
        )}
      </form>
    </section>
  )
}

function Entry({ entry }: { readonly entry: TranscriptEntry }): ReactNode {
  if (entry.kind === 'call') return <p>{`${entry.call.name}: ${entry.call.result?.output ?? entry.call.status}`}</p>
  if (entry.kind === 'live') return <p>{entry.text}</p>
  return <p>{entry.message.__typename === 'UserMessage' ? <b>You {entry.message.text}</b> : entry.message.text}</p>
}
