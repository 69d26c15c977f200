// Compiles the service to dist/ and the hosted page to dist/webauthn-page/.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const steps = [['tsc', '-p', 'tsconfig.build.json']]
if (existsSync(`${root}webauthn-page/vite.config.ts`)) {
  steps.push(['vite', 'build', '--config', 'webauthn-page/vite.config.ts', '--logLevel', 'warn'])
}
for (const [tool, ...args] of steps) {
  const { status } = spawnSync(`${root}node_modules/.bin/${tool}`, args, { cwd: root, stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}
