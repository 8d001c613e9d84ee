import { HoldpointError } from '../domain/errors.ts'

/** `reason` is a whole sentence. It is also the reason that a WebSocket client gets when its socket is closed. */
export function unauthenticated(reason: string): HoldpointError {
  return new HoldpointError(
    'UNAUTHENTICATED',
    `${reason} Send a valid key or token as \`Authorization: Bearer …\`, on WebSockets in \`connection_init\`.`,
  )
}
