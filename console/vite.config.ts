import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

export default defineConfig({
  plugins: [react()],
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    assetsInlineLimit: 0,
    // A test says how large it may be when it is compressed.
    chunkSizeWarningLimit: 800,
    target: 'es2023',
    modulePreload: { polyfill: false },
  },
})
