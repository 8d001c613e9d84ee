import { useState, type ReactNode, type SubmitEvent } from 'react'

import type { TranscriptEntry } from '../../client/index.ts' // In your app: 'holdpoint/client'
import { useConversation } from '../../react/index.ts' // In your app: 'holdpoint/react'

/** A conversation as it happens. It survives reloads and lost connections: everything shown comes from the server. */
export function Chat({ conversationId }: { readonly conversationId: string }): ReactNode {
  const conversation = useConversation(conversationId)
  const { entries, pendingCalls, drafts, isActive, isLoaded, error, send, cancel, decide } = conversation
  const [text, setText] = useState('')
  const { act, problem } = useAction()

  function submit(event: SubmitEvent): void {
    event.preventDefault()
    // A message that could not be sent stays among the drafts, with its problem.
    send(text, { whenBusy: 'ENQUEUE' }).catch(() => {})
    setText('')
  }

  if (error) return <p role="alert">{error.message}</p>
  if (!isLoaded) return <p>Loading …</p>
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
          <button onClick={() => act(decide({ approve: { toolCallId: id } }))}>Approve</button>{' '}
          <button onClick={() => act(decide({ deny: { toolCallId: id, reason: 'The person said no.' } }))}>Deny</button>
        </p>
      ))}
      {problem && <p role="alert">{problem}</p>}
      <form onSubmit={submit}>
        <textarea aria-label="Message" value={text} onChange={(event) => setText(event.target.value)} />
        <button>Send</button>{' '}
        {isActive && (
          <button type="button" onClick={() => act(cancel())}>
            Stop
          </button>
        )}
      </form>
    </section>
  )
}

/** Runs an action. `problem` says why the last one failed: the server refused it, or could not be reached. */
export function useAction() {
  const [problem, setProblem] = useState<string>()
  function act(action: Promise<object>): void {
    action.then(
      (result) => setProblem('message' in result ? String(result.message) : undefined),
      (error: unknown) => setProblem((error as Error).message),
    )
  }
  return { act, problem }
}

function Entry({ entry }: { readonly entry: TranscriptEntry }): ReactNode {
  if (entry.kind === 'call') return <p>{`${entry.call.name}: ${entry.call.result?.output ?? entry.call.status}`}</p>
  if (entry.kind === 'live') return <p>{entry.text}</p>
  return <p>{entry.message.__typename === 'UserMessage' ? <b>You {entry.message.text}</b> : entry.message.text}</p>
}
