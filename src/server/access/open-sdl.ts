import type { Plugin } from 'graphql-yoga'

import type { ClientLimits } from '../limits/client-limits.ts'

/** Longer than what gateways and registries send, and too short to be worth an attack. */
const maxBytes = 1_000

/**
 * Registries read the schema of a subgraph without a key, as anybody may read `/schema.graphql`. A request that asks for
 * nothing else is answered before anybody is identified.
 */
export function useOpenSdl(sdl: string, clients: Pick<ClientLimits, 'takeRequest'>): Plugin {
  return {
    async onRequestParse({ request, fetchAPI, endResponse }) {
      const { headers, method } = request
      if (method !== 'POST' || headers.has('authorization')) return
      if (Number(headers.get('content-length') ?? maxBytes) >= maxBytes) return
      const body = (await request.clone().text()).replaceAll(/\\n|\s/g, '')
      if (!/"query":"(query\w*)?\{_service\{sdl\}\}"/.test(body)) return
      clients.takeRequest(null)
      const type = { 'content-type': 'application/json; charset=utf-8' }
      endResponse(new fetchAPI.Response(JSON.stringify({ data: { _service: { sdl } } }), { headers: type }))
    },
  }
}
