import { HttpAgent } from '@ag-ui/client'
import { CopilotKitProvider, useAgent, useCopilotKit, useInterrupt } from '@copilotkit/react-core/v2'
import { useEffect, useState, type ReactNode, type SubmitEvent } from 'react'
import { createRoot } from 'react-dom/client'

// The endpoint is in vite.config.ts. Any id of the thread will do: it names a conversation with the agent.
const url = new URL('/ag-ui', location.href)
url.searchParams.set('agent', location.hash.slice(1))
const threadId = (localStorage.thread ??= crypto.randomUUID())
const holdpoint = new HttpAgent({ url: url.href, threadId })

function Page(): ReactNode {
  const { agent } = useAgent({ agentId: 'holdpoint' })
  const { copilotkit } = useCopilotKit()
  const [text, setText] = useState('')
  const [problem, setProblem] = useState<string>()
  const run = (): void => void copilotkit.runAgent({ agent }).catch((error: Error) => setProblem(error.message))

  useEffect(() => {
    const failed = agent.subscribe({ onRunErrorEvent: ({ event }) => setProblem(event.message) })
    // Without messages, the whole conversation comes, with the interrupt of a call that waits.
    if (agent.messages.length === 0) run()
    return () => failed.unsubscribe()
  }, [agent])

  const question = useInterrupt({
    agentId: 'holdpoint',
    renderInChat: false,
    render: ({ interrupt, resolve }) => (
      <p role="alert">
        {interrupt?.message} <button onClick={() => void resolve({ approved: true })}>Approve</button>{' '}
        <button onClick={() => void resolve({ approved: false, reason: 'The person said no.' })}>Deny</button>
      </p>
    ),
  })

  /** The messages of the client are the branch: what is left of them is what the model reads. */
  function runFrom(index: number, content?: string): void {
    setProblem(undefined)
    agent.setMessages(agent.messages.slice(0, index))
    if (content !== undefined) agent.addMessage({ id: crypto.randomUUID(), role: 'user', content })
    run()
  }
  function submit(event: SubmitEvent): void {
    event.preventDefault()
    runFrom(agent.messages.length, text)
    setText('')
  }

  return (
    <>
      {agent.messages.map(({ id, role, content, ...message }, index) => (
        <p key={id} data-role={role}>
          {typeof content === 'string' && content}
          {'toolCalls' in message && message.toolCalls?.map((call) => <i key={call.id}>{call.function.name}</i>)}{' '}
          {role === 'user' && (
            <>
              <button onClick={() => runFrom(index + 1)}>Again</button>{' '}
              <button onClick={() => runFrom(index, prompt('Message', String(content)) ?? String(content))}>
                Edit
              </button>
            </>
          )}
        </p>
      ))}
      {question}
      {problem && <p role="alert">{problem}</p>}
      <form onSubmit={submit}>
        <textarea aria-label="Message" value={text} onChange={(event) => setText(event.target.value)} />
        <button disabled={agent.isRunning}>Send</button>{' '}
        {agent.isRunning && (
          <button type="button" onClick={() => copilotkit.stopAgent({ agent })}>
            Stop
          </button>
        )}
      </form>
    </>
  )
}

createRoot(document.getElementById('root')!).render(
  <CopilotKitProvider selfManagedAgents={{ holdpoint }}>
    <Page />
  </CopilotKitProvider>,
)
