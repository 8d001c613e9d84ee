import { useEffect, useLayoutEffect, useRef, useState } from 'react'

const isWide = (): boolean => matchMedia('(min-width: 1100px)').matches

type Drawer = 'LIST' | 'CONTEXT'

/**
 * Which part lies over a narrow page. Escape and a tap beside it close it. On a wide page both parts are columns, and
 * only the context can be closed. The focus goes into what is opened, and back to the button that opens it.
 */
export function useDrawer(): [drawer: Drawer | undefined, setDrawer: (drawer: Drawer | undefined) => void] {
  const [drawer, setDrawer] = useState<Drawer | undefined>(() => (isWide() ? 'CONTEXT' : undefined))
  const last = useRef(drawer)
  useLayoutEffect(() => {
    if (drawer === last.current) return
    const place = drawer ? `[data-drawer=${drawer}] :is(a, button)` : `[data-opens=${last.current}]`
    last.current = drawer
    const places = [...document.querySelectorAll<HTMLElement>(place)]
    places.find((one) => one.checkVisibility())?.focus()
  }, [drawer])
  useEffect(() => {
    if (drawer === undefined) return undefined
    function pressed({ key }: KeyboardEvent): void {
      // An open dialog or menu is closed first.
      if (key === 'Escape' && !isWide() && !document.querySelector('dialog[open], :popover-open')) setDrawer(undefined)
    }
    function clicked({ target }: MouseEvent): void {
      if (!isWide() && !(target as Element).closest('[data-drawer], [data-opens], dialog')) setDrawer(undefined)
    }
    document.addEventListener('keydown', pressed)
    // Captured, since handlers of the click may take its target out of the drawer.
    document.addEventListener('click', clicked, true)
    return () => {
      document.removeEventListener('keydown', pressed)
      document.removeEventListener('click', clicked, true)
    }
  }, [drawer])
  return [drawer, setDrawer]
}
