/** The results in an event stream. Throws if the stream ends before the server has completed it. */
export async function* readEventStream(response: Response): AsyncGenerator<unknown, void> {
  let buffered = ''
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) throw new Error('The event stream broke off.')
      const events = (buffered + value).split('\n\n')
      buffered = events.pop()!
      for (const event of events) {
        const lines = event.split('\n')
        if (lines.includes('event: complete')) return
        const data = lines.filter((line) => line.startsWith('data: ')).map((line) => line.slice('data: '.length))
        if (data.length > 0 && data[0]) yield JSON.parse(data.join('\n'))
      }
    }
  } finally {
    void reader.cancel().catch(() => {})
  }
}
