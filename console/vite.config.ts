import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

export default defineConfig({
  plugins: [react()],
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    assetsInlineLimit: 0,
    target: 'es2023',
    modulePreload: { polyfill: false },
  },
  // `npm run dev` serves the console with hot reload and passes everything else on to the server.
  server: { proxy: { '/graphql': { target: 'http://127.0.0.1:4000', ws: true } } },
})
