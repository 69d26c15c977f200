import { spawnSync } from 'node:child_process'
import { packagePath } from '../../src/config/package-path.ts'
import { PYTHON } from '../python/python-suite.ts'

/** What `hostileTable` needs of the host of that name in `hosts/python.py`, which takes these modules. */
export function pythonHost(host: string, modules: string[], env: Record<string, string> = {}) {
  const look = 'import sys, importlib.util as util; sys.exit(not all(map(util.find_spec, sys.argv[1:])))'
  const found = spawnSync(PYTHON, ['-c', look, ...modules]).status === 0
  return {
    command: [PYTHON, packagePath('test/agents/hosts/python.py'), host],
    env: { PYTHONDONTWRITEBYTECODE: '1', ...env },
    skip: found ? undefined : `${PYTHON} lacks ${modules.join(' or ')}`,
  }
}
