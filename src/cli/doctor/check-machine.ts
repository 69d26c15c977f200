import { existsSync, readFileSync } from 'node:fs'
import { z } from 'zod'
import { packagePath } from '../../config/package-path.ts'
import { type Check, fail, ok } from './check.ts'

const manifestSchema = z.object({ engines: z.object({ node: z.string().regex(/^>=\d+\.\d+$/) }) })

/** Is this Node new enough for the package? */
export function checkNode(version: string = process.versions.node): Check {
  const manifest: unknown = JSON.parse(readFileSync(packagePath('package.json'), 'utf8'))
  const wanted = manifestSchema.parse(manifest).engines.node.slice(2)
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [wantedMajor = 0, wantedMinor = 0] = wanted.split('.').map(Number)
  const enough = major > wantedMajor || (major === wantedMajor && minor >= wantedMinor)
  return enough
    ? ok('Node.js', version)
    : fail('Node.js', `${version} is too old`, `Install Node.js ${wanted} or newer.`)
}

/** Are the hosted pages and the interface document there? */
export function checkPages(): Check {
  const parts = ['dist/webauthn-page/index.html', 'dist/dashboard/index.html', 'openapi.json']
  const missing = parts.filter((path) => !existsSync(packagePath(path)))
  return missing.length === 0
    ? ok('Pages', 'built')
    : fail('Pages', `missing: ${missing.join(', ')}`, 'Run: npm run build && npm run openapi')
}
