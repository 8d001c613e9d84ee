// What every contender here is wrapped in. It takes turns in two ways: `POST /turn` over HTTP, with a conversation and a
// text, gives the answer once it is stored; and a line of JSON on stdin, with a number of turns, makes it take them by
// itself, as a program that uses the library does, and answer with a line of their times.
import { createServer } from 'node:http'
import { createInterface } from 'node:readline'

export const modelUrl = process.env.MODEL_URL
export const databaseUrl = process.env.DATABASE_URL
export const question = 'What is the weather like in Reykjavik?'
export const instructions = 'You are a weather service. Use look_up to find the weather.'
export const toolDescription = 'The weather of a place.'
export const lookUp = () => '{"temperature":4,"sky":"clear"}'

/** `takeTurn` gets the conversation's id and the text of the user, and gives the text of the answer. */
export function serve(takeTurn, { prepare } = {}) {
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (data) => (body += data))
    request.on('end', async () => {
      try {
        const { conversation, text } = JSON.parse(body)
        response.setHeader('content-type', 'application/json')
        response.end(JSON.stringify({ answer: await takeTurn(conversation, text) }))
      } catch (error) {
        console.error(error)
        response.writeHead(500).end()
      }
    })
  })
  server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/turn`))
  obeyStdin(takeTurn, prepare)
}

/** `prepare` gets the names of the conversations of the turns that follow. */
export function obeyStdin(takeTurn, prepare) {
  const commands = createInterface({ input: process.stdin })
  commands.on('close', () => process.exit())
  commands.on('line', async (line) => {
    const { prepared, turns, atOnce, conversations } = JSON.parse(line)
    if (prepared) console.log(JSON.stringify({ conversations: (await prepare?.(prepared)) ?? prepared }))
    else console.log(JSON.stringify(await takeTurns({ turns, atOnce, conversations }, takeTurn)))
  })
}

/** Takes this many turns, at most `atOnce` at a time, those of one conversation one after another. */
export async function takeTurns({ turns, atOnce, conversations }, takeTurn) {
  const times = []
  let begun = 0
  const cpuBefore = process.cpuUsage()
  const startedAt = performance.now()
  const takers = Array.from({ length: atOnce }, async (_, taker) => {
    for (let place = taker; begun < turns; place = (place + atOnce) % conversations.length) {
      begun += 1
      const turnStartedAt = performance.now()
      const answer = await takeTurn(conversations[place], question)
      if (!answer.includes('sun.')) throw new Error(`The answer was ${JSON.stringify(answer)}.`)
      times.push(performance.now() - turnStartedAt)
    }
  })
  await Promise.all(takers)
  const { user, system } = process.cpuUsage(cpuBefore)
  return { times, ms: performance.now() - startedAt, cpuMs: (user + system) / 1_000 }
}

/** `POST /stream` answers with server-sent events. `answer` gets a function that writes one. */
export function serveStream(answer) {
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (data) => (body += data))
    request.on('end', async () => {
      const { conversation, text } = JSON.parse(body)
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.flushHeaders()
      await answer(conversation, text, (event) => response.write(`data: ${JSON.stringify(event)}\n\n`))
      response.end()
    })
  })
  server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`))
  process.stdin.on('end', () => process.exit()).resume()
}
