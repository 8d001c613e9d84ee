// A Chat Completions server: it calls `look_up` first, and writes 50 tokens once the tool has returned. No delay.
import { createServer } from 'node:http'

const tokens = Array.from({ length: 50 }, (_, index) => (index % 10 === 9 ? 'sun. ' : 'rain '))
const call = (id) => ({ index: 0, id, type: 'function', function: { name: 'look_up', arguments: '' } })
const pieces = ['{"pla', 'ce":"', 'Reyk', 'javik', '"}']
const usage = { prompt_tokens: 100, completion_tokens: 50, total_tokens: 150 }
let calls = 0

const server = createServer((request, response) => {
  let body = ''
  request.setEncoding('utf8').on('data', (data) => (body += data))
  request.on('end', () => answer(JSON.parse(body), response))
})

function answer({ messages, stream, model }, response) {
  const isAnswer = messages.at(-1).role === 'tool'
  const id = `call_${(calls += 1)}`
  const head = { id: `chatcmpl-${calls}`, created: 1, model }
  if (!stream) {
    const message = isAnswer
      ? { role: 'assistant', content: tokens.join('') }
      : {
          role: 'assistant',
          content: null,
          tool_calls: [{ ...call(id), function: { name: 'look_up', arguments: pieces.join('') } }],
        }
    const choices = [{ index: 0, message, finish_reason: isAnswer ? 'stop' : 'tool_calls' }]
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ ...head, object: 'chat.completion', choices, usage }))
    return
  }
  const deltas = isAnswer
    ? tokens.map((content) => ({ content }))
    : [
        { tool_calls: [call(id)] },
        ...pieces.map((piece) => ({ tool_calls: [{ index: 0, function: { arguments: piece } }] })),
      ]
  response.setHeader('content-type', 'text/event-stream')
  const write = (data) =>
    response.write(`data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', ...data })}\n\n`)
  write({ choices: [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }] })
  for (const delta of deltas) write({ choices: [{ index: 0, delta, finish_reason: null }] })
  write({ choices: [{ index: 0, delta: {}, finish_reason: isAnswer ? 'stop' : 'tool_calls' }] })
  write({ choices: [], usage })
  response.end('data: [DONE]\n\n')
}

server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/v1`))
