/** What `window.seen` holds. */
export interface Seen {
  /** How often React changed the document since `watchChanges`. */
  readonly renderings: number
  /** Elements of the conversation that were changed, outside the block that is being written. */
  readonly changedElsewhere: readonly string[]
}

/** Runs before the page's own scripts: React tells its developer tools about each rendering. */
export const countRenderings = `
  window.seen = { renderings: 0, changedElsewhere: [] }
  window.__REACT_DEVTOOLS_GLOBAL_HOOK__ = {
    supportsFiber: true,
    inject: () => 1,
    onCommitFiberRoot: () => void (window.seen.renderings += 1),
    onCommitFiberUnmount() {},
    onPostCommitFiberRoot() {},
    checkDCE() {},
  }`

/** Runs while the last block of the last answer is being written. */
export const watchChanges = `
  window.seen.renderings = 0
  const log = document.querySelector('[role=log]')
  const end = [...log.querySelectorAll('.markdown')].at(-1).lastElementChild
  new MutationObserver((records) => {
    for (const { target } of records) {
      const element = target instanceof Element ? target : target.parentElement
      // The list itself may take in and give up entries. An entry that is shown does not change.
      if (!end.contains(target) && element?.closest('article'))
        window.seen.changedElsewhere.push(target.nodeName + ' ' + target.textContent.slice(0, 80))
    }
  }).observe(log, { subtree: true, childList: true, characterData: true })`
