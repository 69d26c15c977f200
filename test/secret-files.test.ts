import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { readConfig, SECRET_NAMES } from '../src/config/config.ts'
import { FROM_FILES } from '../src/config/secret-files.ts'
import { problemsOf } from './support/config-problems.ts'

const secret = () => randomBytes(32).toString('base64')

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-secrets-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

describe('a secret in a file', () => {
  const put = (text: string): string => {
    const path = join(newFolder(), 'secret')
    writeFileSync(path, text)
    return path
  }

  it.each(FROM_FILES)('is as good as %s itself', (name) => {
    const app = { SLACK_APP_TOKEN: 'xapp-1', SLACK_BOT_TOKEN: 'xoxb-1', SLACK_SIGNING_SECRET: 'b'.repeat(32) }
    const many = { ...app, SLACK_CLIENT_ID: '1.2', SLACK_CLIENT_SECRET: 'c'.repeat(32), SLACK_BOT_TOKEN: '' }
    const teams = {
      TEAMS_APP_ID: '11111111-2222-4333-8444-555555555555',
      TEAMS_TENANT_ID: '11111111-2222-4333-8444-666666666666',
      TEAMS_APP_PASSWORD: 'd'.repeat(40),
    }
    const uri = { MONGODB_URI: 'mongodb://db.example.com/x?replicaSet=rs0' }
    const env: Record<string, string> = {
      ...Object.fromEntries(SECRET_NAMES.map((one) => [one, secret()])),
      ...uri,
      ...teams,
      ...(name === 'SLACK_CLIENT_SECRET' ? many : app),
      ...{ SMTP_HOST: 'smtp.example.com', SMTP_FROM: 'a@example.com', SMTP_USER: 'u', SMTP_PASSWORD: 'f g' },
      INTERNAL_SERVICE_TOKEN: 'e'.repeat(40),
    }
    const { [name]: value = '', ...others } = env
    expect(readConfig({ ...others, [`${name}_FILE`]: put(`${value}\n`) })).toEqual(readConfig(env))
  })

  it('is refused by the name of its setting when it cannot be read, is empty, or is given twice', () => {
    const path = join(newFolder(), 'none')
    const empty = put('\n')
    const twice = put(secret())
    const files = { TOKEN_SECRET_FILE: path, SEALING_KEY_FILE: empty, API_KEY_PEPPER_FILE: twice }
    expect(problemsOf({ ...files, API_KEY_PEPPER: secret() })).toEqual([
      'API_KEY_PEPPER_FILE: API_KEY_PEPPER is set as well; leave one of the two out',
      `TOKEN_SECRET_FILE: ${path} cannot be read (ENOENT)`,
      `SEALING_KEY_FILE: ${empty} is empty`,
    ])
    expect(problemsOf({ SEALING_KEY_FILE: put('short') })).toEqual([
      'SEALING_KEY: is shorter than 32 bytes; make one with: openssl rand -base64 32',
    ])
  })
})
