/** Tells the time. A server uses the database's clock; some tests use one that they move by hand. */
export interface Clock {
  now(): Date
}

export const systemClock: Clock = { now: () => new Date() }
