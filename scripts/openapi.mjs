// Writes openapi.json from the schemas in the built service, and from that the types of the client. --check: fails if a committed
// file differs.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { clientTypes } from './client-types.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
if (!existsSync(`${root}dist/src/http/openapi.js`)) {
  process.stderr.write('Nothing is built; run: npm run build\n')
  process.exit(1)
}
const { buildOpenApi } = await import('../dist/src/http/openapi.js')
const { version } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'))
const openapi = buildOpenApi(version)
write('openapi.json', `${inLines(openapi, 3)}\n`)
write('packages/client/src/rest.ts', clientTypes(JSON.parse(JSON.stringify(openapi))))

function write(name, wanted) {
  const file = `${root}${name}`
  if (!process.argv.includes('--check')) {
    writeFileSync(file, wanted)
  } else if (!existsSync(file) || readFileSync(file, 'utf8') !== wanted) {
    process.stderr.write(`${name} is not what the schemas say; run: npm run build && npm run openapi\n`)
    process.exitCode = 1
  }
}

/** Writes an object as JSON with one line for each entry of the outermost levels: small, and a diff shows which operation changed. */
function inLines(value, levels) {
  if (levels === 0 || typeof value !== 'object' || Array.isArray(value)) return JSON.stringify(value)
  const entries = Object.entries(value).map(
    ([name, inner]) => `${JSON.stringify(name)}:${inLines(inner, levels - 1)}`,
  )
  return `{\n${entries.join(',\n')}\n}`
}
