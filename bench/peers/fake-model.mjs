// A Chat Completions server that calls `look_up` first, and writes 50 tokens once the tool has returned: without delay,
// or, from a request for `/slow` to one for `/fast`, after 300 ms and then with 50 tokens per second. Below `/live/v1` it
// writes 50 tokens per second without a tool, each with the time at which it was written, until a request for `/live/end`.
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

const tokens = Array.from({ length: 50 }, (_, index) => (index % 10 === 9 ? 'sun. ' : 'rain '))
const call = (id) => ({ index: 0, id, type: 'function', function: { name: 'look_up', arguments: '' } })
const pieces = ['{"pla', 'ce":"', 'Reyk', 'javik', '"}']
const usage = { prompt_tokens: 100, completion_tokens: 50, total_tokens: 150 }
const firstTokenMs = 300
const tokenMs = 20
let calls = 0
let isSlow = false

const server = createServer((request, response) => {
  let body = ''
  request.setEncoding('utf8').on('data', (data) => (body += data))
  request.on('end', () => {
    if (request.url === '/live/end') return endChats(response)
    if (request.url === '/slow' || request.url === '/fast') {
      isSlow = request.url === '/slow'
      return response.end()
    }
    const asked = JSON.parse(body)
    if (request.url.startsWith('/live/')) live(asked, response)
    else void answer(asked, response)
  })
})

function writeTo(response, model) {
  const head = { id: `chatcmpl-${(calls += 1)}`, created: 1, model, object: 'chat.completion.chunk' }
  response.setHeader('content-type', 'text/event-stream')
  return (data) => response.write(`data: ${JSON.stringify({ ...head, ...data })}\n\n`)
}

async function answer({ messages, stream, model }, response) {
  const isAnswer = messages.at(-1).role === 'tool'
  const startedAt = performance.now()
  const until = async (place) => {
    const ms = startedAt + firstTokenMs + place * tokenMs - performance.now()
    if (isSlow && ms > 0) await sleep(ms)
  }
  if (!stream) {
    await until(0)
    const message = isAnswer
      ? { role: 'assistant', content: tokens.join('') }
      : {
          role: 'assistant',
          content: null,
          tool_calls: [{ ...call(`call_${(calls += 1)}`), function: { name: 'look_up', arguments: pieces.join('') } }],
        }
    const choices = [{ index: 0, message, finish_reason: isAnswer ? 'stop' : 'tool_calls' }]
    const head = { id: `chatcmpl-${calls}`, created: 1, model, object: 'chat.completion' }
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ ...head, choices, usage }))
    return
  }
  const deltas = isAnswer
    ? tokens.map((content) => ({ content }))
    : [
        { tool_calls: [call(`call_${calls}`)] },
        ...pieces.map((piece) => ({ tool_calls: [{ index: 0, function: { arguments: piece } }] })),
      ]
  const write = writeTo(response, model)
  await until(0)
  write({ choices: [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }] })
  for (const [place, delta] of deltas.entries()) {
    if (isSlow) await until(place)
    write({ choices: [{ index: 0, delta, finish_reason: null }] })
  }
  write({ choices: [{ index: 0, delta: {}, finish_reason: isAnswer ? 'stop' : 'tool_calls' }] })
  write({ choices: [], usage })
  response.end('data: [DONE]\n\n')
}

// One timer for all answers, because a thousand timers would be what is measured. Each tick serves a fifth of them.
const phases = Array.from({ length: 5 }, () => new Set())
let tick = 0
let opened = 0
setInterval(() => {
  const due = phases[(tick = (tick + 1) % phases.length)]
  if (due.size === 0) return
  const delta = { content: `@${Date.now()} ` }
  const choices = [{ index: 0, delta, finish_reason: null }]
  const head = { id: 'chatcmpl-live', created: 1, model: 'fake', object: 'chat.completion.chunk' }
  const text = `data: ${JSON.stringify({ ...head, choices })}\n\n`
  for (const { response } of due) response.write(text)
}, tokenMs / phases.length).unref()

function live({ model }, response) {
  const write = writeTo(response, model)
  write({ choices: [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }] })
  const due = phases[(opened += 1) % phases.length]
  const chat = { response, write }
  due.add(chat)
  response.on('close', () => due.delete(chat))
}

function endChats(response) {
  for (const due of phases) {
    for (const chat of due) {
      chat.write({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })
      chat.write({ choices: [], usage })
      chat.response.end('data: [DONE]\n\n')
    }
    due.clear()
  }
  response.end()
}

server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`))
