// What a page does with the versions of its libraries that are installed beside the package. Prints JSON.
import { Chat } from '@ai-sdk/react'
import { HttpAgent } from '@ag-ui/client'
import { lastAssistantMessageIsCompleteWithApprovalResponses as isAnswered } from 'ai'
import { createApp, defineTool } from 'holdpoint'
import { createAgUiHandler } from 'holdpoint/ag-ui'
import { createChatTransport, loadMessages } from 'holdpoint/ai-sdk'
import { createClient, UpsertAgent } from 'holdpoint/client'
import { z } from 'zod'

const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  parameters: z.object({ amount: z.number() }),
  requiresApproval: true,
  run: ({ amount }) => ({ paid: amount }),
})
const app = await createApp({ tools: [pay], settings: { PORT: 0, HOLDPOINT_DRAIN_MS: 0 } })
const { url } = await app.start()
const client = createClient({ url })
const agent = { name: 'Ada', model: 'demo/scripted', includeBaseTools: false, tools: [{ toolName: 'pay' }] }
const { upsertAgent } = await client.request(UpsertAgent, { input: { key: 'ada', agent } })
const agentId = upsertAgent.agent.id

const transport = createChatTransport(client, { agentId })
const chat = new Chat({ id: 'a chat', transport, sendAutomaticallyWhen: isAnswered })
const follower = transport.follow(chat.id, (update) => (chat.messages = update(chat.messages)))
const until = async (is) => {
  for (const end = Date.now() + 20_000; !is(); await new Promise((resolve) => setTimeout(resolve, 20)))
    if (Date.now() > end) throw new Error(`Not reached: ${is} ${JSON.stringify(chat.messages)}`)
}
const call = () => chat.lastMessage?.parts.find(({ type }) => type === 'dynamic-tool')
await chat.sendMessage({ text: 'say One.' })
await chat.sendMessage({ text: 'say Two.', messageId: chat.messages[0].id })
await chat.regenerate()
await chat.sendMessage({ text: 'call pay {"amount": 5}' })
await until(() => call()?.state === 'approval-requested')
await chat.addToolApprovalResponse({ id: call().approval.id, approved: true })
await until(() => call()?.state === 'output-available' && chat.lastMessage.parts.at(-1).type === 'text')
follower.stop()
const { output, approval } = call()
const texts = chat.messages.flatMap(({ parts }) => parts.flatMap(({ text }) => text ?? []))
const other = createChatTransport(client, { agentId })
const reloaded = new Chat({ id: 'a chat', transport: other })
const again = other.follow('a chat', (update) => (reloaded.messages = update(reloaded.messages)))
await until(() => reloaded.messages.length === chat.messages.length)
again.stop()

const handle = createAgUiHandler(client, { agentId })
const fetch = async (address, init) => handle(new Request(address, init))
const newAgent = () => new HttpAgent({ url: 'http://localhost/', threadId: 'a thread', fetch })
const thread = newAgent()
let interrupts = []
thread.addMessage({ id: 'first', role: 'user', content: 'call pay {"amount": 6}' })
await thread.runAgent({}, { onRunFinishedEvent: ({ event }) => void (interrupts = event.outcome?.interrupts ?? []) })
await thread.runAgent({ resume: [{ interruptId: interrupts[0].id, status: 'resolved', payload: { approved: true } }] })
const later = newAgent()
await later.runAgent()
console.log(
  JSON.stringify({
    texts,
    output,
    approved: approval.approved,
    roles: thread.messages.map(({ role }) => role),
    later: later.messages.map(({ role }) => role),
    loaded: typeof loadMessages,
  }),
)
await app.stop()
