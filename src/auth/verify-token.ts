import type { KeyObject } from 'node:crypto'

import {
  createRemoteJWKSet,
  decodeJwt,
  decodeProtectedHeader,
  errors,
  jwtVerify,
  type JWTPayload,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
} from 'jose'

import { HoldpointError } from '../domain/errors.ts'
import { unauthenticated } from './unauthenticated.ts'

/** How tokens of the application's own identity provider are verified: the variables HOLDPOINT_JWT_… */
export interface TokenTrust {
  readonly secret: string | undefined
  readonly publicKey: KeyObject | undefined
  readonly jwksUrl: string | undefined
  readonly issuer: string | undefined
  readonly audience: string | undefined
}

/** Each way of verifying has its own algorithms, so that a public key is never used as a shared secret. */
const secretAlgorithms = ['HS256', 'HS384', 'HS512']
const keyAlgorithms = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
]

/** Whether people can authenticate with tokens of an identity provider. */
export function trustsTokens({ secret, publicKey, jwksUrl }: TokenTrust): boolean {
  return secret !== undefined || publicKey !== undefined || jwksUrl !== undefined
}

type Verify = (token: string, algorithm: string, now: Date) => Promise<JWTPayload>

/**
 * Undefined if nothing is configured. The returned function throws UNAUTHENTICATED, or UNAVAILABLE if the keys cannot
 * be loaded.
 */
export function createTokenVerifier(trust: TokenTrust): Verify | undefined {
  const { secret, publicKey, jwksUrl, issuer, audience } = trust
  const sharedSecret = secret === undefined ? undefined : new TextEncoder().encode(secret)
  const remoteKeys = jwksUrl === undefined ? undefined : createRemoteJWKSet(new URL(jwksUrl))
  if (!trustsTokens(trust)) return undefined

  return (token, algorithm, now) => {
    const options = {
      ...(issuer !== undefined && { issuer }),
      ...(audience !== undefined && { audience }),
      currentDate: now,
    }
    if (secretAlgorithms.includes(algorithm)) {
      if (!sharedSecret) throw unauthenticated('The token is signed with a secret that this server does not have.')
      return verifyToken(token, sharedSecret, { ...options, algorithms: secretAlgorithms })
    }
    const verifyWith = (key: KeyObject | JWTVerifyGetKey) =>
      verifyToken(token, key, { ...options, algorithms: keyAlgorithms })
    if (publicKey && remoteKeys) return verifyWith(publicKey).catch(() => verifyWith(remoteKeys))
    const key = publicKey ?? remoteKeys
    if (!key) throw unauthenticated('The token is signed with a key that this server does not have.')
    return verifyWith(key)
  }
}

/** Verifies the signature, the expiry and whatever else is configured. */
export async function verifyToken(
  token: string,
  key: Uint8Array | KeyObject | JWTVerifyGetKey,
  options: JWTVerifyOptions & { readonly currentDate: Date },
): Promise<JWTPayload> {
  try {
    const { payload } = await jwtVerify(token, key as never, { ...options, requiredClaims: ['exp'] })
    return payload
  } catch (error) {
    if (typeof key !== 'function' || !isFailureOfKeys(error)) throw toHoldpointError(error)
    if (saysExpired(token, options.currentDate)) throw expired()
    throw new HoldpointError('UNAVAILABLE', 'The keys that verify tokens are unavailable at the moment. Try again.')
  }
}

/** Undefined if the text is not a token at all. */
export function readHeader(token: string): { readonly algorithm: string; readonly keyId: string } | undefined {
  try {
    // The token's issuer may have put anything there.
    const { alg, kid }: Record<string, unknown> = { ...decodeProtectedHeader(token) }
    return { algorithm: typeof alg === 'string' ? alg : '', keyId: typeof kid === 'string' ? kid : '' }
  } catch {
    return undefined
  }
}

function toHoldpointError(error: unknown): HoldpointError {
  if (error instanceof errors.JWTExpired) return expired()
  if (error instanceof errors.JWTClaimValidationFailed) {
    const { claim, reason } = error
    return unauthenticated(`The token's claim \`${claim}\` is ${reason === 'missing' ? 'missing' : 'not accepted'}.`)
  }
  return unauthenticated('The token is not valid.')
}

/** Whether the keys could not be loaded from their address. */
function isFailureOfKeys(error: unknown): boolean {
  return (
    !(error instanceof errors.JOSEError) ||
    error instanceof errors.JWKSTimeout ||
    error instanceof errors.JWKSInvalid ||
    error.code === 'ERR_JOSE_GENERIC'
  )
}

/** Whether a token is past its own expiry. Needs no keys, so that the sockets of a token end even while they are missing. */
function saysExpired(token: string, now: Date): boolean {
  try {
    const { exp } = decodeJwt(token)
    return exp !== undefined && exp * 1000 <= now.getTime()
  } catch {
    return false
  }
}

function expired(): HoldpointError {
  return unauthenticated('The token has expired.')
}
