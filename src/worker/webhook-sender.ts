import { setTimeout as delay } from 'node:timers/promises'

import { attemptDelivery } from '../commands/webhooks/attempt-delivery.ts'
import type { WebhookDelivery } from '../domain/webhooks/webhook.ts'
import { transact } from '../store/database/transact.ts'
import { claimDeliveries, freeDeliveries, settleDelivery } from '../store/webhooks/deliveries.ts'
import { findWebhooks } from '../store/webhooks/webhooks.ts'
import type { WorkerOptions } from './worker-options.ts'

/** Deliveries that a process sends at the same time. A receiver whose last attempt failed gets one at a time. */
const most = 500

/**
 * Sends what webhooks are told, as long as its worker lives. A delivery that this worker has claimed is free for others
 * as soon as the worker's row is gone, so it is sent at least once, whoever dies. It never touches a run, and each
 * receiver has places of its own, so a slow one delays nobody else.
 */
export class WebhookSender {
  readonly #options: WorkerOptions
  readonly #workerId: string
  readonly #sending = new Map<string, Promise<void>>()
  /** How many deliveries of each webhook are being sent. */
  readonly #ofWebhook = new Map<string, number>()
  readonly #giveUp = new AbortController()
  #closed = false
  #looking: Promise<void> | undefined
  #looksAgain = false

  constructor(options: WorkerOptions, workerId: string) {
    this.#options = options
    this.#workerId = workerId
  }

  /** Sends what is due. */
  look(): void {
    if (this.#closed) return
    this.#looksAgain = true
    this.#looking ??= this.#claim()
      .catch((error: unknown) => this.#options.log.warn({ err: error }, 'webhook deliveries could not be claimed'))
      .finally(() => (this.#looking = undefined))
  }

  /** Claims no more. What is being sent gets `graceMs`; the rest is free for others once the worker's row is gone. */
  async close(graceMs: number): Promise<void> {
    this.#closed = true
    const timer = setTimeout(() => this.#giveUp.abort(), graceMs)
    await this.#looking
    await Promise.all(this.#sending.values())
    clearTimeout(timer)
    await freeDeliveries(this.#options.engine.db, this.#workerId).catch(() => undefined)
  }

  async #claim(): Promise<void> {
    const { engine, webhooks } = this.#options
    while (this.#looksAgain && !this.#closed) {
      this.#looksAgain = false
      const room = most - this.#sending.size
      if (room <= 0) return
      const claimed = await claimDeliveries(engine.db, {
        workerId: this.#workerId,
        now: engine.clock.now(),
        publicUrl: webhooks.publicUrl,
        sending: Object.fromEntries(this.#ofWebhook),
        most: room,
      })
      for (const delivery of claimed) this.#begin(delivery)
    }
  }

  #begin(delivery: WebhookDelivery): void {
    const { id, webhookId } = delivery
    this.#ofWebhook.set(webhookId, (this.#ofWebhook.get(webhookId) ?? 0) + 1)
    const sending = this.#send(delivery)
      .catch((error: unknown) => this.#options.log.error({ err: error }, 'a webhook delivery could not be stored'))
      .finally(() => {
        this.#sending.delete(id)
        const left = (this.#ofWebhook.get(webhookId) ?? 1) - 1
        if (left > 0) this.#ofWebhook.set(webhookId, left)
        else this.#ofWebhook.delete(webhookId)
        // The next one of the conversation may have waited for it.
        this.look()
      })
    this.#sending.set(id, sending)
  }

  async #send(delivery: WebhookDelivery): Promise<void> {
    const { engine, webhooks } = this.#options
    const { db, clock } = engine
    const [webhook] = await this.#persist(() => findWebhooks(db, { tenantId: delivery.tenantId }, [delivery.webhookId]))
    if (!webhook?.enabled) return this.#persist(() => freeDeliveries(db, this.#workerId, delivery.id))
    const { signal } = this.#giveUp
    const outcome = await attemptDelivery(webhooks, webhook, delivery, { now: clock.now(), signal })
    if (signal.aborted && !outcome.ok) return
    const settled = { workerId: this.#workerId, random: Math.random() }
    await this.#persist(() =>
      transact({ db }, (trx) => settleDelivery(trx, delivery, outcome, { ...settled, now: clock.now() })),
    )
  }

  /** Until it succeeds, because nobody else may do it while this worker lives. */
  async #persist<Result>(work: () => Promise<Result>): Promise<Result> {
    for (;;) {
      try {
        return await work()
      } catch (error) {
        if (this.#giveUp.signal.aborted) throw error
        this.#options.log.debug({ err: error }, 'a webhook delivery could not be stored; trying again')
        await delay(1_000, undefined, { signal: this.#giveUp.signal }).catch(() => undefined)
      }
    }
  }
}
