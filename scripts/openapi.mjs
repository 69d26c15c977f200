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
const wanted = `${inLines(buildOpenApi(version), 3)}\n`

if (!process.argv.includes('--check')) {
  writeFileSync(file, wanted)
} else if (!existsSync(file) || readFileSync(file, 'utf8') !== wanted) {
  process.stderr.write('openapi.json is not what the schemas say; run: npm run build && npm run openapi\n')
  process.exit(1)
}

/** Writes an object as JSON with one line for each entry of the outermost levels: small, and a diff shows which operation changed. */
function inLines(value, levels) {
  if (levels === 0 || typeof value !== 'object' || Array.isArray(value)) return JSON.stringify(value)
  const entries = Object.entries(value).map(
    ([name, inner]) => `${JSON.stringify(name)}:${inLines(inner, levels - 1)}`,
  )
  return `{\n${entries.join(',\n')}\n}`
}
