import { readFileSync } from 'node:fs'
import { packagePath } from '../../src/config/package-path.ts'

const { bin }: { bin: Record<string, string> } = JSON.parse(readFileSync(packagePath('package.json'), 'utf8'))

/**
 * In front of a shell script of the documents, which runs in the package's folder: finds the package's own programs where npx
 * does, and no other. npx itself takes ten times as long as the command it runs; `test/docs.test.ts` has it run one.
 */
export const LIGHT_NPX = `npx() {
  [ "$1" != --no ] || shift
  case "$1" in
${Object.entries(bin)
  .map(([name, path]) => `    ${name}) shift; node ${path} "$@" ;;`)
  .join('\n')}
    *) echo "npx: no program $1" >&2; return 127 ;;
  esac
}
`
