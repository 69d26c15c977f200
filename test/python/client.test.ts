import { expect, it, onTestFinished } from 'vitest'
import { hasPython, runPython, startPythonSetting } from './python-suite.ts'

if (!hasPython) console.warn('There is no Python 3.9 or newer: the tests of python/ are skipped.')

it.skipIf(!hasPython)(
  'the client in Python: its own tests, behind a network that loses answers',
  async () => {
    const setting = await startPythonSetting()
    onTestFinished(() => setting.close())
    const { code, err } = await runPython(
      ['-m', 'unittest', 'discover', '-t', '.', '-s', 'tests'],
      setting.env,
    )
    if (process.env.COUNTERSIGN_PYTHON !== undefined) expect(err).not.toMatch(/skipped=/)
    expect({ code, err }).toMatchObject({ code: 0, err: expect.stringMatching(/^Ran \d+ tests[\s\S]*^OK/m) })
  },
)
