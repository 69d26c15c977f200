// Writes openapi.json from the schemas in the built service. --check: fails if the committed file differs.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
if (!existsSync(`${root}dist/src/http/openapi.js`)) {
  process.stderr.write('Nothing is built; run: npm run build\n')
  process.exit(1)
}
const { buildOpenApi } = await import('../dist/src/http/openapi.js')
const { version } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'))
const file = `${root}openapi.json`
const wanted = `${JSON.stringify(buildOpenApi(version), null, 2)}\n`

if (!process.argv.includes('--check')) {
  writeFileSync(file, wanted)
} else if (!existsSync(file) || readFileSync(file, 'utf8') !== wanted) {
  process.stderr.write('openapi.json is not what the schemas say; run: npm run build && npm run openapi\n')
  process.exit(1)
}
