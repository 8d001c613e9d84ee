import type { TestApp } from '../support/app.ts'
import { addTurns } from '../support/many-turns.ts'
import type { Ground } from './ground.ts'

/** Opens the main conversation of an agent after it has been given this many turns. */
export async function openLongConversation(
  { server, openTab }: { readonly server: TestApp; readonly openTab: Ground['openTab'] },
  agent: string,
  { turns }: { readonly turns: number },
) {
  const { agent: found } = await server.data('query ($id: ID!) { agent(id: $id) { mainConversation { id } } }', {
    id: agent,
  })
  const conversation = found.mainConversation.id as string
  await addTurns(server.database.pool, conversation.slice('conv_'.length), turns)
  const page = await openTab(new URL(`/conversations/${conversation}`, server.url).href)
  const log = page.getByRole('log', { name: 'Conversation' })
  /** How many pixels of the log are below what is in view. */
  const belowView = () => log.evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight)
  return { page, log, belowView }
}
