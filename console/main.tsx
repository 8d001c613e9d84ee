import { createRoot } from 'react-dom/client'
import '@fontsource-variable/geist/wght.css'

import { App } from './app.tsx'
import { applyTheme, readTheme } from './data/theme.ts'
import './styles/tokens.css'
import './styles/base.css'
import './styles/controls.css'
import './styles/layout.css'
import './styles/conversation.css'
import './styles/pages.css'

applyTheme(readTheme())
createRoot(document.querySelector('#root')!).render(<App />)
