/** The names that RFC 6838 allows. */
const pattern = /^[a-z0-9][\w!#$&^.+-]{0,126}\/[a-z0-9][\w!#$&^.+-]{0,126}$/

/** The media type of bytes of which nothing is known. */
export const anyBytes = 'application/octet-stream'

/**
 * A media type as stored: lower case, without parameters, under its registered name. Clients and tools may give any
 * text. One that is not a media type becomes that of unknown bytes.
 */
export function mediaTypeOf(given: string): string {
  const type = given.replace(/;.*/s, '').trim().toLowerCase()
  if (!pattern.test(type)) return anyBytes
  return type === 'image/jpg' ? 'image/jpeg' : type
}

const textTypes = new Set([
  ...['application/json', 'application/xml', 'application/yaml', 'application/x-yaml', 'application/toml'],
  ...['application/javascript', 'application/ecmascript', 'application/typescript', 'application/sql'],
  ...['application/graphql', 'application/x-sh', 'application/x-www-form-urlencoded', 'image/svg+xml'],
])

/** Whether content of this type is text, which every model can read. */
export function isTextType(mediaType: string): boolean {
  return (
    mediaType.startsWith('text/') || textTypes.has(mediaType) || /^application\/.*\+(json|xml|yaml)$/.test(mediaType)
  )
}

/** Image types that models can read. */
const readImages = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

export function isReadableImage(mediaType: string): boolean {
  return readImages.has(mediaType)
}

export function isPdf(mediaType: string): boolean {
  return mediaType === 'application/pdf'
}
