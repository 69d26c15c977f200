#!/usr/bin/env node
// Starts the service; builds it first if nothing is built (for example after `npm ci --ignore-scripts`).
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const built = ['dist/service/main.js', 'dist/webauthn-page/index.html', 'dist/dashboard/index.html']
if (!built.every((file) => existsSync(`${root}${file}`))) {
  process.stdout.write('Building Countersign (first start only) …\n')
  const { status } = spawnSync(process.execPath, [`${root}scripts/build.mjs`], { stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}
const { runMain } = await import('../dist/service/main.js')
await runMain()
