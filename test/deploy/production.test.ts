import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { buildInfo, packagePath } from '../../src/config/package-path.ts'
import { freePort } from '../support/service.ts'
import { startProcess } from './child.ts'
import { parseDotEnv, readComposeFile } from './compose-file.ts'
import { newEnv, useProject } from './env-file.ts'
import { describeWithNginx, useCertificate, useProxy } from './nginx.ts'

describeWithNginx('docker-compose.https.yml', () => {
  it('has what NODE_ENV=production demands: the service starts and is reached over TLS', async () => {
    const { tlsDir, certificate } = await useCertificate()
    const port = await freePort()
    const proxy = await useProxy({ processes: [`127.0.0.1:${port}`], listen: 'listen-https.conf', tlsDir })
    const folder = await useProject()
    await newEnv(folder, `https://localhost:${proxy.tlsPort}`, tlsDir)
    const dotEnv = parseDotEnv(readFileSync(join(folder, '.env'), 'utf8'))
    const given = readComposeFile('docker-compose.yml', dotEnv).services.countersign?.environment ?? {}
    // There is no MongoDB here; the embedded store takes its place.
    const own = { MONGODB_URI: '', STORE: 'embedded', DATA_DIR: join(folder, 'data'), PORT: String(port) }
    const env = { PATH: process.env.PATH ?? '', ...given, ...own }
    // Fewer files than MAX_OPEN_WAITS may need: it starts, and warns.
    const program = ['--nofile=3000:3000', process.execPath, packagePath('bin/countersign.mjs'), 'serve']
    const service = startProcess('prlimit', program, { cwd: folder, env })
    onTestFinished(() => service.end('SIGTERM'))
    const [line] = await service.line(/\{.*Countersign is running.*\}/)
    expect(JSON.parse(line)).toMatchObject({ ...buildInfo(), url: `https://localhost:${proxy.tlsPort}` })
    await service.line(
      /"warn".*"limit":3000,"needed":22500,"msg":"the limit of open files is lower than .* set MAX_OPEN_WAITS=1136"/,
    )

    const options = { host: 'localhost', port: proxy.tlsPort, path: '/readyz', ca: certificate, agent: false }
    const [answer]: IncomingMessage[] = await once(request(options).end(), 'response')
    answer?.resume()
    expect(answer?.statusCode).toBe(200)
    expect(answer?.headers['strict-transport-security']).toMatch(/^max-age=\d{8}/)
  })
})
