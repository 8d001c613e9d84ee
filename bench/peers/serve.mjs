// What every library here is wrapped in: `POST /turn` with a conversation and a text gives the answer once it is
// stored.
import { createServer } from 'node:http'

export const modelUrl = process.env.MODEL_URL
export const databaseUrl = process.env.DATABASE_URL
export const instructions = 'You are a weather service. Use look_up to find the weather.'
export const toolDescription = 'The weather of a place.'
export const lookUp = () => '{"temperature":4,"sky":"clear"}'

/** `takeTurn` gets the conversation's id and the text of the user, and gives the text of the answer. */
export function serve(takeTurn) {
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
}
