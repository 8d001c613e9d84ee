const deadlockDetected = '40P01'
const attempts = 5

/**
 * Repeats a transaction that Postgres ended because of a deadlock. Two agents may work for each other in the
 * background, and then the ends of their turns lock each other's conversations in either order.
 */
export async function retryDeadlocks<Result>(transact: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await transact()
    } catch (error) {
      if ((error as { readonly code?: string }).code !== deadlockDetected || attempt === attempts) throw error
    }
  }
}
