import { type Config, ConfigError, loadConfig, loadProductionProblems } from '../../config/config.ts'
import { type Check, fail, ok, warn } from './check.ts'

/** The configuration, if it can be used, and what there is to say about it. */
export function checkConfiguration(): { config: Config | undefined; checks: Check[] } {
  try {
    const config = loadConfig()
    return { config, checks: [modeCheck(config), ...config.warnings.map(warned)] }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return { config: undefined, checks: error.problems.map((problem) => told(problem)) }
  }
}

function modeCheck(config: Config): Check {
  if (config.production) return ok('Configuration', 'complete for production')
  const missing = loadProductionProblems()
  if (missing.length === 0) return ok('Configuration', 'usable; NODE_ENV is not "production"')
  return warn(
    'Configuration',
    'fine for development, not for production',
    ['For production:', ...missing.map((problem) => `- ${problem}`)].join('\n'),
  )
}

/** A warning reads `NAME: what it does not do, or should not`. */
function warned(warning: string): Check {
  const name = warning.slice(0, warning.indexOf(':'))
  return warn('Configuration', warning, `Set ${name} to another value, or leave it unset.`)
}

/** A problem reads `NAME: what is wrong`. */
function told(problem: string): Check {
  const cut = problem.indexOf(': ')
  const name = cut < 0 ? 'it' : problem.slice(0, cut)
  return fail(
    'Configuration',
    problem,
    `Change ${name} in the environment or in .env; .env.example explains it.`,
  )
}
