import { useState, type ReactNode } from 'react'
import { Link } from 'wouter'

import { useConversation } from '../../react/use-conversation.ts'
import { ConversationAgent } from '../data/documents.ts'
import { TurnsProvider } from '../data/turns.ts'
import { useAction } from '../data/use-action.ts'
import { useDrawer } from '../data/use-drawer.ts'
import { useQuery } from '../data/use-query.ts'
import { useConversationTurns } from '../data/use-turns.ts'
import { useTitle } from '../data/use-title.ts'
import { Button } from '../parts/button.tsx'
import { Composer } from '../parts/composer.tsx'
import { ContextPanel } from '../parts/context-panel.tsx'
import { ConversationList, nameIn } from '../parts/conversation-list.tsx'
import { ConversationMenu } from '../parts/conversation-menu.tsx'
import { ConversationLog } from '../parts/conversation-log.tsx'
import { ConversationTitle } from '../parts/conversation-title.tsx'
import { NewConversation } from '../parts/new-conversation.tsx'
import { Problem } from '../parts/problem.tsx'
import { RunProblem } from '../parts/run-problem.tsx'
import { Status } from '../parts/status.tsx'
import { Suggestions } from '../parts/suggestions.tsx'
import { NotFoundPage } from './not-found-page.tsx'

export function ConversationPage({ id }: { readonly id: string }): ReactNode {
  const conversation = useConversation(id)
  const { info, latestRun, isActive, error } = conversation
  const revision = `${latestRun?.id} ${latestRun?.status} ${isActive ? '' : conversation.entries.length}`
  const { data } = useQuery(ConversationAgent, info ? { agentId: info.agent.id } : null)
  const { turns, row, refetch } = useConversationTurns(id, {
    revision: info && revision,
    isActive,
    entries: conversation.entries,
  })
  const isArchived = row?.archivedAt != null
  const [drawer, setDrawer] = useDrawer()
  const [sentCount, setSent] = useState(0)
  const agent = data?.agent
  // The draft shows a failure. As an action, a double click sends it once.
  const choose = useAction(async (text: string) => void (await conversation.send(text).catch(() => {})))
  useTitle(info ? (info.title ?? info.agent.name) : 'Conversation')

  if (error && 'code' in error && (error.code === 'NOT_FOUND' || error.code === 'BAD_USER_INPUT'))
    return <NotFoundPage what="conversation" />
  return (
    <div className={`conversation-page ${drawer === undefined ? '' : `with-${drawer.toLowerCase()}`}`}>
      <div className="conversation-side" data-drawer="LIST">
        {agent && <ConversationList agent={agent} currentId={id} revision={revision} />}
      </div>
      <section className="conversation-main">
        <header className="conversation-head">
          <Button
            look="quiet"
            icon="list"
            className="narrow-only"
            aria-label="Conversations"
            aria-expanded={drawer === 'LIST'}
            data-opens="LIST"
            onClick={() => setDrawer(drawer === 'LIST' ? undefined : 'LIST')}
          />
          <div className="conversation-name">
            <h1>{agent?.name ?? info?.agent.name ?? 'Conversation'}</h1>
            {info && row && agent && (
              <ConversationTitle
                id={id}
                title={info.title}
                name={nameIn({ ...row, title: null }, agent.mainConversation.id)}
              />
            )}
          </div>
          {latestRun && isActive && (
            <Link href={`/runs/${latestRun.id}`} className="run-link" title="Open the latest run">
              <Status value={latestRun.status} />
            </Link>
          )}
          {info && (
            <Link href={`/agents/${info.agent.id}/edit`} className="button quiet wide-only">
              Edit agent
            </Link>
          )}
          {info && <NewConversation agentId={info.agent.id} isSmall />}
          {info && (
            <ConversationMenu
              id={id}
              agentId={info.agent.id}
              isMain={agent?.mainConversation.id === id}
              isArchived={isArchived}
              onChanged={() => void refetch()}
            />
          )}
          {drawer !== 'CONTEXT' && (
            <Button
              look="quiet"
              icon="panel"
              aria-label="Show context"
              title="Show context"
              data-opens="CONTEXT"
              onClick={() => setDrawer('CONTEXT')}
            />
          )}
        </header>
        {error && <Problem>{error.message}</Problem>}
        {isArchived && (
          <p className="notice">This conversation is archived. A new message takes it out of the archive.</p>
        )}
        <TurnsProvider value={turns}>
          <ConversationLog
            conversationId={id}
            conversation={conversation}
            sentCount={sentCount}
            empty={<Suggestions agent={agent} onChoose={choose.run} />}
            tail={<RunProblem conversation={conversation} />}
          />
        </TurnsProvider>
        <Composer conversationId={id} conversation={conversation} onSend={() => setSent((before) => before + 1)} />
      </section>
      {drawer === 'CONTEXT' && (
        <ContextPanel conversationId={id} revision={info && revision} onClose={() => setDrawer(undefined)} />
      )}
    </div>
  )
}
