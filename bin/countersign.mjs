#!/usr/bin/env node
// The command line; builds it first if nothing is built (for example after `npm ci --ignore-scripts`).
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const built = ['dist/service/cli.js', 'dist/webauthn-page/index.html', 'dist/dashboard/index.html']
if (!built.every((file) => existsSync(`${root}${file}`))) {
  process.stderr.write('Building Countersign (first start only) …\n')
  // Everything to stderr: stdout belongs to the command.
  const { status } = spawnSync(process.execPath, [`${root}scripts/build.mjs`], { stdio: ['ignore', 2, 2] })
  if (status !== 0) process.exit(status ?? 1)
}
const argv = process.argv.slice(2)
const { CALLER_COMMANDS, isCallerCommand, runCaller } = await import('../dist/service/caller.js')
// The commands of callers are the client's own; loading the operator's would take them a while.
const run = isCallerCommand(argv[0]) ? runCaller : (await import('../dist/service/cli.js')).runCli
process.exitCode = await run(argv, undefined, CALLER_COMMANDS)
