import { existsSync, readFileSync, statSync } from 'node:fs'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readConfig } from '../../src/config/config.ts'
import { parseDotEnv, readComposeFile } from './compose-file.ts'
import { newEnv, useProject } from './env-file.ts'

const read = (folder: string) => parseDotEnv(readFileSync(join(folder, '.env'), 'utf8'))

/** The configuration of a process of the service under docker compose. */
function configOf(folder: string) {
  const { services } = readComposeFile('docker-compose.yml', read(folder))
  return readConfig(services.countersign?.environment ?? expect.unreachable())
}

describe('deploy/new-env.sh', () => {
  it('sets up a trial on http://localhost:8080, readable by nobody else', async () => {
    const folder = await useProject()
    const made = await newEnv(folder)
    expect(made).toEqual({
      code: 0,
      stdout: 'Wrote .env for http://localhost:8080. Next: docker compose up -d\n',
      stderr: '',
    })
    expect(statSync(join(folder, '.env')).mode & 0o777).toBe(0o600)
    expect(read(folder)).toMatchObject({ NODE_ENV: 'development', HTTP_PORT: '8080' })
    expect(read(folder)).not.toHaveProperty('COMPOSE_FILE')
    expect(configOf(folder)).toMatchObject({
      production: false,
      baseUrl: 'http://localhost:8080',
      trustProxy: 1,
      warnings: [],
    })
    const { services } = readComposeFile('docker-compose.yml', read(folder))
    expect(services.proxy?.ports).toEqual(['127.0.0.1:8080:8080'])
  })

  it('publishes the port that the address names', async () => {
    const folder = await useProject()
    await newEnv(folder, 'http://localhost:9000')
    expect(read(folder)).toMatchObject({ BASE_URL: 'http://localhost:9000', HTTP_PORT: '9000' })
    const other = await useProject()
    await mkdir(join(other, 'data'))
    const { stdout } = await newEnv(other, 'http://localhost')
    expect(stdout).toContain('the store in data/, made with other secrets, needs those of data/secrets.json.')
    expect(read(other)).toMatchObject({ BASE_URL: 'http://localhost', HTTP_PORT: '80' })
  })

  it('sets up production with certificates: the configuration passes the strict checks', async () => {
    const folder = await useProject()
    await mkdir(join(folder, 'tls'))
    for (const name of ['fullchain.pem', 'privkey.pem']) await writeFile(join(folder, 'tls', name), 'x')
    expect((await newEnv(folder, 'https://approvals.example.com', 'tls')).code).toBe(0)
    expect(read(folder)).toMatchObject({
      NODE_ENV: 'production',
      COMPOSE_FILE: 'docker-compose.yml:deploy/docker-compose.https.yml',
      TLS_DIR: join(folder, 'tls'),
    })
    expect(configOf(folder)).toMatchObject({
      production: true,
      baseUrl: 'https://approvals.example.com',
      trustProxy: 1,
      warnings: [],
    })
  })

  it('counts two proxies when TLS ends before ours', async () => {
    const folder = await useProject()
    await newEnv(folder, 'https://approvals.example.com')
    expect(configOf(folder)).toMatchObject({ production: true, trustProxy: 2 })
    expect(read(folder)).not.toHaveProperty('COMPOSE_FILE')
  })

  it('draws every secret afresh', async () => {
    const [one, two] = [await useProject(), await useProject()]
    await newEnv(one)
    await newEnv(two)
    const secrets = [one, two].flatMap((folder) =>
      Object.entries(read(folder))
        .filter(([name]) => /SECRET|PEPPER|KEY|PASSWORD/.test(name))
        .map(([, value]) => value),
    )
    expect(secrets).toHaveLength(12)
    expect(new Set(secrets).size).toBe(12)
    expect(secrets.every((secret) => secret.length >= 44)).toBe(true)
    // It stands inside MONGODB_URI.
    expect(read(one).MONGO_APP_PASSWORD).toMatch(/^[0-9a-f]{64}$/)
  })

  it('never overwrites an .env', async () => {
    const folder = await useProject()
    await writeFile(join(folder, '.env'), 'SEALING_KEY=precious\n')
    const refused = await newEnv(folder)
    expect(refused).toEqual({
      code: 1,
      stdout: '',
      stderr: 'new-env.sh: .env exists; its secrets are in use. Change it by hand.\n',
    })
    expect(readFileSync(join(folder, '.env'), 'utf8')).toBe('SEALING_KEY=precious\n')
  })

  it.each([
    ['http://approvals.example.com', 'passkeys need https://, or http://localhost on this machine'],
    ['approvals.example.com', 'passkeys need https://, or http://localhost on this machine'],
    ['https://approvals.example.com/', 'must be an origin, without a path'],
    ['https://', 'must be an origin, without a path'],
    ['http://localhost:8080/', 'must be an origin, without a path'],
    ['http://localhost:80x', 'must be an origin, without a path'],
    ['http://localhost.example.com', 'passkeys need https://, or http://localhost on this machine'],
  ])('refuses %s and writes nothing', async (address, reason) => {
    const folder = await useProject()
    const refused = await newEnv(folder, address)
    expect([refused.code, refused.stdout]).toEqual([1, ''])
    expect(refused.stderr).toContain(reason)
    expect(existsSync(join(folder, '.env'))).toBe(false)
  })

  it("refuses a folder of links out of it, as Let's Encrypt's, which would lead nowhere in the container", async () => {
    const folder = await useProject()
    const [archive, live] = [join(folder, 'archive'), join(folder, 'live')]
    for (const path of [archive, live]) await mkdir(path)
    for (const name of ['fullchain.pem', 'privkey.pem']) {
      await writeFile(join(archive, name), 'x')
      await symlink(`../archive/${name}`, join(live, name))
    }
    const refused = await newEnv(folder, 'https://approvals.example.com', live)
    expect([refused.code, refused.stdout]).toEqual([1, ''])
    expect(refused.stderr).toContain(`${live}/fullchain.pem is a link out of that folder`)
    expect(refused.stderr).toContain(`cp -L ${live}/fullchain.pem`)
    expect(refused.stderr, 'certbot runs hooks in a folder of its own').toMatch(
      / && cd '\/[^']+' && docker compose kill -s HUP proxy\n/,
    )
    expect(existsSync(join(folder, '.env'))).toBe(false)
    await symlink('fullchain.pem', join(archive, 'cert.pem'))
    expect((await newEnv(folder, 'https://approvals.example.com', archive)).code).toBe(0)
  })

  it('refuses a folder without certificates', async () => {
    const folder = await useProject()
    const refused = await newEnv(folder, 'https://approvals.example.com', join(folder, 'nowhere'))
    expect([refused.code, refused.stderr]).toEqual([
      1,
      `new-env.sh: ${folder}/nowhere/fullchain.pem cannot be read\n`,
    ])
    expect(existsSync(join(folder, '.env'))).toBe(false)
  })
})
