import { readFileSync } from 'node:fs'

type Environment = Readonly<Record<string, string | undefined>>

/** Settings that are secret, whose value a file may hold: `<NAME>_FILE` names it, as Docker and Kubernetes mount secrets. */
export const FROM_FILES = [
  'API_KEY_PEPPER',
  'TOKEN_SECRET',
  'SEALING_KEY',
  'WEBHOOK_MASTER_SECRET',
  'MONGODB_URI',
  'INTERNAL_SERVICE_TOKEN',
  'SLACK_BOT_TOKEN',
  'SLACK_SIGNING_SECRET',
  'SLACK_APP_TOKEN',
  'SLACK_CLIENT_SECRET',
  'TEAMS_APP_PASSWORD',
  'SMTP_PASSWORD',
] as const

/**
 * Replaces each `<NAME>_FILE` by the setting it stands for, without the line break at the end of the file.
 * @param problems gets a sentence for each file that cannot stand for its setting; no sentence has its content
 */
export function readSecretFiles(env: Environment, problems: string[]): Environment {
  const read = { ...env }
  for (const name of FROM_FILES) {
    const setting = `${name}_FILE`
    const path = env[setting]
    if (path === undefined) continue
    delete read[setting]
    if (env[name] !== undefined) problems.push(`${setting}: ${name} is set as well; leave one of the two out`)
    else read[name] = textOf(path, (why) => problems.push(`${setting}: ${path} ${why}`))
  }
  return read
}

function textOf(path: string, fail: (why: string) => void): string | undefined {
  try {
    const text = readFileSync(path, 'utf8').replace(/\r?\n$/, '')
    if (text !== '') return text
    fail('is empty')
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error
    fail(`cannot be read (${error.code})`)
  }
  return undefined
}
