import type { JsonObject } from '../../util/json.ts'
import type { Actor } from '../access/actor.ts'
import type { SealedHeaders } from '../tools/tool.ts'

export const webhookEvents = [
  'RUN_ENDED',
  'APPROVAL_REQUESTED',
  'APPROVAL_DECIDED',
  'APPROVAL_EXPIRED',
  'CLIENT_CALL_REQUESTED',
  'BUDGET_REACHED',
  'SCHEDULE_FAILED',
  'PING',
] as const
export type WebhookEvent = (typeof webhookEvents)[number]

export interface WebhookSettings {
  readonly url: string
  readonly events: readonly WebhookEvent[]
  /** Null means all agents. */
  readonly agentIds: readonly string[] | null
  /** Sent with every delivery. */
  readonly headers: SealedHeaders
  readonly enabled: boolean
}

export interface Webhook extends WebhookSettings {
  readonly id: string
  readonly tenantId: string
  /** Encrypted. */
  readonly secret: string
  /** The secret before the last rotation, which signs too for a day. */
  readonly oldSecret: { readonly sealed: string; readonly until: Date } | null
  readonly lastError: string | null
  readonly createdBy: Actor
  readonly createdAt: Date
}

export type DeliveryStatus = 'PENDING' | 'DELIVERED' | 'DEAD'

/** The body of a delivery. As it is stored, a run has no `url` yet: see `payloadWithUrl`. */
export interface EventPayload {
  readonly type: WebhookEvent
  /** When it happened, in ISO 8601. */
  readonly timestamp: string
  readonly data: JsonObject
}

export interface WebhookDelivery {
  readonly id: string
  readonly tenantId: string
  readonly webhookId: string
  readonly event: WebhookEvent
  readonly payload: EventPayload
  readonly status: DeliveryStatus
  readonly attempts: number
  readonly nextAttemptAt: Date | null
  /** The address of this server that the first attempt named. Null before, empty if it named none. */
  readonly publicUrl: string | null
  readonly responseStatus: number | null
  readonly error: string | null
  readonly createdAt: Date
  readonly deliveredAt: Date | null
}

/** A budget that stops or pauses a run, with public ids, as webhooks are told. */
export interface ReachedBudget {
  readonly id: string
  readonly agentId: string | null
  readonly actorId: string | null
  readonly period: string
  readonly limitUsd: number | null
  readonly limitTokens: number | null
  readonly spentUsd: number
  readonly spentTokens: number
}

/** How an attempt went. */
export type AttemptOutcome =
  | { readonly ok: true; readonly status: number }
  | { readonly ok: false; readonly status: number | null; readonly error: string }

/** The waits between attempts. If the attempt after the last wait fails, the delivery is DEAD. */
const waitsMs = [5_000, 30_000, 120_000, 600_000, 3_600_000, 14_400_000, 43_200_000] as const

/**
 * How long to wait after so many failed attempts: up to a fifth longer, so that what failed together does not come back
 * together. Undefined after the last attempt.
 */
export function waitAfter(attempts: number, random: number): number | undefined {
  const wait = waitsMs[attempts - 1]
  return wait === undefined ? undefined : Math.round(wait * (1 + random / 5))
}

/**
 * The body that is sent: the stored one, with the address of the run's page in the console. It is not stored, because
 * the processes that write the event need not know under which address people reach this server.
 */
export function payloadWithUrl({ type, timestamp, data }: EventPayload, publicUrl: string | null): EventPayload {
  const { run } = data as { readonly run?: JsonObject & { readonly id: string } }
  if (!run) return { type, timestamp, data }
  const url = publicUrl ? `${publicUrl}/runs/${run.id}` : null
  return { type, timestamp, data: { ...data, run: { ...run, url } } }
}
