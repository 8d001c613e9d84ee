/** A pause sign in a ring: work waits until someone approves it. */
export const icon =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32" fill="none" stroke="#c2571a" stroke-width="4">' +
  '<circle cx="16" cy="16" r="13"/><path d="M12.5 11v10M19.5 11v10" stroke-linecap="round"/></svg>'

export const iconUrl = `data:image/svg+xml,${encodeURIComponent(icon)}`
