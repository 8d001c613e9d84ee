/** The answer of the server, or an error that says in words that there was none. */
export async function reach<Answer>(answer: Promise<Answer>): Promise<Answer> {
  try {
    return await answer
  } catch (error) {
    // This is all that `fetch` says about a connection that failed or was lost.
    if (!(error instanceof TypeError)) throw error
    throw new Error('The server cannot be reached. Try again when the connection is back.', { cause: error })
  }
}
