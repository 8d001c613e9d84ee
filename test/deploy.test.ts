import { readFileSync } from 'node:fs'

import { expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'

import { settings } from '../src/config/settings.ts'

const read = (name: string) => readFileSync(new URL(`../${name}`, import.meta.url), 'utf8')
const names = Object.keys(settings)

test('[DEP1] compose passes every setting of an optional .env on, restarts what fails, and waits longer than a drain', () => {
  const { services } = parse(read('docker-compose.yml'))
  const { environment, env_file: files, ports } = services.server
  expect(files).toEqual([{ path: '.env', required: false }])
  // What is set here takes precedence over the file, so only what has to be is.
  expect(Object.keys(environment)).toEqual(['DATABASE_URL', 'HOLDPOINT_API_KEY', 'HOST', 'PORT'])
  expect(environment).toMatchObject({ HOST: '0.0.0.0', PORT: 4000 })
  expect(ports).toEqual(['127.0.0.1:4000:4000'])
  expect(read('.gitignore').split('\n')).toContain('.env')
  expect(read('.dockerignore').split('\n')).toContain('.env*')
  expect(Object.values(services).map(({ restart }: any) => restart)).toEqual(['unless-stopped', 'unless-stopped'])
  expect(Number.parseInt(services.server.stop_grace_period, 10) * 1000).toBeGreaterThan(
    Number(settings.HOLDPOINT_DRAIN_MS.shownDefault),
  )
})

test('[DEP2] the image has no second Node and no Postgres, is not root, and reports its readiness', () => {
  const [, final] = read('Dockerfile').split(/^FROM node:24-slim$/m)
  expect(final).toContain('npm ci --omit=dev --omit=optional --ignore-scripts')
  expect(final).toContain('HOST=0.0.0.0')
  expect(final).toContain('/build/node_modules/redis ')
  expect(final).toMatch(/^USER node$/m)
  expect(final).toMatch(/^HEALTHCHECK [^]*\/readyz/m)
  const { dependencies } = JSON.parse(read('package.json'))
  expect(Object.keys(dependencies)).not.toContain('node')
})

test('[DEP3] the Kubernetes example uses real settings and addresses, and its grace period covers a drain', () => {
  const [deployment] = parseAllDocuments(read('deploy/kubernetes.yaml')).map((document) => document.toJS())
  const { terminationGracePeriodSeconds: grace, containers } = deployment.spec.template.spec
  const [{ env, livenessProbe, readinessProbe, startupProbe, lifecycle }] = containers
  for (const { name } of env) expect(names).toContain(name)
  const drainMs = Number(env.find(({ name }: any) => name === 'HOLDPOINT_DRAIN_MS').value)
  const pauseMs = Number(lifecycle.preStop.exec.command[1]) * 1000
  expect(grace * 1000).toBeGreaterThan(drainMs + pauseMs + 5_000)
  const paths = [livenessProbe, readinessProbe, startupProbe].map((probe) => probe.httpGet.path)
  expect(paths).toEqual(['/healthz', '/readyz', '/readyz'])
})
