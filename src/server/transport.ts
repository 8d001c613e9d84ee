import type { ServerResponse } from 'node:http'

import type { Log } from '../util/log.ts'
import type { KeyWatch } from './access/key-watch.ts'
import type { Origins } from './access/origin.ts'
import type { Answer } from './answer.ts'
import type { Client, ClientLimits } from './limits/client-limits.ts'
import type { Limits } from './limits/limits.ts'
import type { TrustedDocuments } from './limits/trusted-documents.ts'
import type { SharedExecution } from './streams/shared-execution.ts'

/**
 * Finds out who sends a request by its `Authorization` header, which is null if there is none. Throws UNAUTHENTICATED.
 */
export type Authenticate<Viewer> = (authorization: string | null) => Promise<Viewer>

/** The counters that a viewer's requests count towards. */
export type ClientOf<Viewer> = (viewer: Viewer) => Client

/** `Authenticate` for HTTP clients. `host` is the header that the client sent. */
export type Identify<Viewer> = (authorization: string | null, host: string | undefined) => Promise<Viewer>

/** What all ways to the API share: requests over HTTP, WebSockets, event streams and `fetch` without a socket. */
export interface Transport<Viewer> {
  readonly identify: Identify<Viewer>
  readonly clients: ClientLimits
  readonly clientOf: ClientOf<Viewer>
  readonly keyWatch: KeyWatch
  readonly origins: Origins
  readonly log: Log
  readonly limits: Limits
  readonly sharedExecution: SharedExecution
  /** Undefined if clients may send any document. */
  readonly trustedDocuments: TrustedDocuments | undefined
}

/** What yoga's hooks find on an HTTP request. A WebSocket operation has only the viewer. */
export interface ServerContext<Viewer> {
  /** Node's response to a request over HTTP. */
  res?: ServerResponse
  answer?: Answer | undefined
  viewer: Viewer
}
