import { spawnSync } from 'node:child_process'
import { packagePath } from '../../src/config/package-path.ts'
import { PYTHON } from '../python/python-suite.ts'
import { type HostUnderTest, hostileTable } from './hostile-table.ts'

/** Runs the table through the host of that name in `hosts/python.py`, which needs these modules. */
export function pythonTable(
  host: string,
  modules: string[],
  under: Omit<HostUnderTest, 'command' | 'skip'>,
): void {
  const look = 'import sys, importlib.util as util; sys.exit(not all(map(util.find_spec, sys.argv[1:])))'
  const found = spawnSync(PYTHON, ['-c', look, ...modules]).status === 0
  hostileTable({
    ...under,
    command: [PYTHON, packagePath('test/agents/hosts/python.py'), host],
    env: { PYTHONDONTWRITEBYTECODE: '1' },
    skip: found ? undefined : `${PYTHON} has no ${modules.join(' or no ')}`,
  })
}
