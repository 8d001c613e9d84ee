import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

const target = process.env['HOLDPOINT_URL'] ?? 'http://127.0.0.1:4000'

export default defineConfig({
  plugins: [react()],
  server: { proxy: { '/graphql': { target, ws: true, changeOrigin: true, rewriteWsOrigin: true } } },
})
