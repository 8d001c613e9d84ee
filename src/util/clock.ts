/** Where time comes from: the database's clock in a server, one that is moved by hand in some tests. */
export interface Clock {
  now(): Date
}

export const systemClock: Clock = { now: () => new Date() }
