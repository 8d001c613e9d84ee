import { useEffect, useId, type ReactNode } from 'react'
import { Link, useLocation } from 'wouter'

import { useClient } from '../../react/client-context.ts'
import { useInbox } from '../../react/use-inbox.ts'
import type { ViewerData } from '../data/documents.ts'
import { places } from '../data/places.ts'
import { signOut } from '../data/session.ts'
import { deleteLeftTrials } from '../data/try-tool.ts'
import { forgetKept } from '../data/use-kept.ts'
import { useLost } from '../data/use-lost.ts'
import { Button } from './button.tsx'
import { Connection } from './connection.tsx'
import { CommandPalette, usePalette } from './command-palette.tsx'
import { Icon } from './icon.tsx'
import { ThemeChoice } from './theme-choice.tsx'

interface FrameProps {
  readonly viewer: ViewerData['viewer']
  readonly isSignedIn: boolean
  readonly children: ReactNode
}

const isApple = /Mac|iPhone|iPad/.test(navigator.userAgent)

/** The frame of every page: navigation, connection, theme. */
export function Frame({ viewer, isSignedIn, children }: FrameProps): ReactNode {
  const client = useClient()
  const [path] = useLocation()
  const { totalCount } = useInbox()
  const isLost = useLost()
  const [hasPalette, setPalette] = usePalette()
  const foot = useId()
  useEffect(() => {
    if (viewer.scopes.includes('MANAGE')) deleteLeftTrials(client).catch(() => {})
  }, [client])
  useEffect(() => {
    document.querySelector('main')?.focus({ preventScroll: true })
    document.querySelector('.side nav [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' })
  }, [path])
  return (
    <div className={isLost ? 'frame is-lost' : 'frame'}>
      <a className="skip" href="#main">
        Skip to content
      </a>
      <aside className="side">
        <Link href="/agents" className="brand" aria-label="Holdpoint, home">
          <img src="/icon.svg" alt="" width="24" height="24" />
          <span>Holdpoint</span>
        </Link>
        <Button look="quiet" icon="search" className="jump" onClick={() => setPalette(true)}>
          <span>Search</span> <kbd>{isApple ? '⌘' : 'Ctrl'} K</kbd>
        </Button>
        <Connection />
        <Button look="quiet" icon="more" className="narrow-only" aria-label="More" popoverTarget={foot} />
        <nav aria-label="Main">
          {places.map(([href, label, icon, also]) => {
            const isHere = path.startsWith(href) || (also !== undefined && path.startsWith(also))
            return (
              <Link key={href} href={href} aria-current={isHere ? 'page' : undefined}>
                <Icon name={icon} />
                <span>{label}</span>
                {href === '/inbox' && totalCount > 0 && (
                  <>
                    {' '}
                    <b className="waiting">{totalCount}</b>
                  </>
                )}
              </Link>
            )
          })}
          <a href="/docs">
            <Icon name="docs" />
            <span>Docs</span>
          </a>
        </nav>
        <div id={foot} className="side-foot" popover="auto">
          <ThemeChoice />
          {isSignedIn && (
            <div className="who">
              <span title={`Scopes: ${viewer.scopes.join(', ')}`}>{viewer.actor.name}</span>
              <Button
                look="quiet"
                onClick={() => {
                  signOut()
                  forgetKept()
                }}
              >
                Sign out
              </Button>
            </div>
          )}
        </div>
      </aside>
      <main id="main" tabIndex={-1}>
        {children}
      </main>
      {hasPalette && <CommandPalette onClose={() => setPalette(false)} />}
      {isLost && <p className="banner">The connection is lost. This page may be out of date until it is back.</p>}
    </div>
  )
}
