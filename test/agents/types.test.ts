import { execFile } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { packagePath } from '../../src/config/package-path.ts'
import { agentPackages } from './agent-packages.ts'

const packages = await agentPackages()

it.skipIf(!packages)('the examples and their hosts have the types of the packages', async () => {
  // TypeScript looks for packages above a file, so the files stand for a moment beside those.
  const folder = await mkdtemp(join(packages ?? '', 'types-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  for (const path of ['examples/agents', 'test/agents/hosts'])
    await cp(packagePath(path), join(folder, path), { recursive: true })
  for (const path of ['examples/agents', 'test/agents/hosts']) {
    const file = join(folder, path, 'ai-sdk-6.ts')
    await writeFile(file, (await readFile(file, 'utf8')).replace(/from 'ai(\/test)?'/g, "from 'ai-6$1'"))
  }
  const config = {
    extends: packagePath('tsconfig.json'),
    compilerOptions: {
      customConditions: [],
      // LangChain's own types do not hold to it.
      exactOptionalPropertyTypes: false,
      paths: { '@countersign/client': [packagePath('packages/client/src/index.ts')] },
      typeRoots: [packagePath('node_modules/@types')],
    },
    include: [folder],
    exclude: [],
  }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config))
  const tsc = promisify(execFile)(packagePath('node_modules/.bin/tsc'), ['-p', folder])
  expect(
    await tsc.then(
      () => '',
      ({ stdout }) => stdout,
    ),
  ).toBe('')
})
