import { useChat } from '@ai-sdk/react'
import {
  ActionBarPrimitive,
  AssistantRuntimeProvider,
  ComposerPrimitive,
  MessagePrimitive,
  ThreadPrimitive,
  type ToolCallMessagePartProps,
} from '@assistant-ui/react'
import { useAISDKRuntime } from '@assistant-ui/react-ai-sdk'
import { lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai'
import { useEffect, type ReactNode } from 'react'
import { createRoot } from 'react-dom/client'

import { createChatTransport } from '../../adapters/ai-sdk.ts' // In your app: 'holdpoint/ai-sdk'
import { createClient } from '../../client/index.ts' // In your app: 'holdpoint/client'

const client = createClient({ url: new URL('/graphql', location.href).href })
// A message that is sent while a call waits denies the call.
const transport = createChatTransport(client, { agentId: location.hash.slice(1), whenBusy: 'INTERRUPT' })

// Any id will do: it names a conversation with the agent, the same one after a reload.
const id = (localStorage.chat ??= crypto.randomUUID())

function Page(): ReactNode {
  const chat = useChat({
    id,
    transport,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  })
  const { setMessages, error } = chat
  // History, and whatever other people and pages do.
  useEffect(() => transport.follow(id, setMessages).stop, [setMessages])
  return (
    <AssistantRuntimeProvider runtime={useAISDKRuntime(chat)}>
      <ThreadPrimitive.Root>
        <ThreadPrimitive.Messages components={{ UserMessage, AssistantMessage, EditComposer }} />
        {error && <p role="alert">{error.message}</p>}
        <ComposerPrimitive.Root>
          <ComposerPrimitive.Input aria-label="Message" />
          <ComposerPrimitive.Send>Send</ComposerPrimitive.Send>
          <ComposerPrimitive.Cancel>Stop</ComposerPrimitive.Cancel>
        </ComposerPrimitive.Root>
      </ThreadPrimitive.Root>
    </AssistantRuntimeProvider>
  )
}

function UserMessage(): ReactNode {
  return (
    <MessagePrimitive.Root data-role="user">
      <MessagePrimitive.Parts />
      <ActionBarPrimitive.Root>
        <ActionBarPrimitive.Edit>Edit</ActionBarPrimitive.Edit>
      </ActionBarPrimitive.Root>
    </MessagePrimitive.Root>
  )
}

function EditComposer(): ReactNode {
  return (
    <ComposerPrimitive.Root>
      <ComposerPrimitive.Input aria-label="Edited message" />
      <ComposerPrimitive.Send>Save</ComposerPrimitive.Send>
    </ComposerPrimitive.Root>
  )
}

function AssistantMessage(): ReactNode {
  return (
    <MessagePrimitive.Root data-role="assistant">
      <MessagePrimitive.Parts components={{ tools: { Fallback: Call } }} />
      <ActionBarPrimitive.Root>
        <ActionBarPrimitive.Reload>Again</ActionBarPrimitive.Reload>
      </ActionBarPrimitive.Root>
    </MessagePrimitive.Root>
  )
}

function Call({ toolName, argsText, result, approval, respondToApproval }: ToolCallMessagePartProps): ReactNode {
  const answer = (approved: boolean) => () => void respondToApproval({ approved })
  return (
    <p>
      {toolName} {argsText} {result !== undefined && <b>{JSON.stringify(result)}</b>}
      {approval?.approved === false && <b>denied</b>}
      {approval && approval.approved === undefined && result === undefined && (
        <>
          <button onClick={answer(true)}>Approve</button> <button onClick={answer(false)}>Deny</button>
        </>
      )}
    </p>
  )
}

createRoot(document.getElementById('root')!).render(<Page />)
