/**
 * Watches how long this thread is held up at a time. Counts its own processor time, which does not depend on how busy
 * the machine is.
 */
export function watchThread(): { stop(): number } {
  let worst = 0
  let before = cpuMs()
  const look = () => {
    const now = cpuMs()
    worst = Math.max(worst, now - before)
    before = now
  }
  const timer = setInterval(look, 2)
  return {
    stop() {
      clearInterval(timer)
      look()
      return worst
    },
  }
}

/** Node has had this since 24; the types of older versions lack it. */
function cpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}
