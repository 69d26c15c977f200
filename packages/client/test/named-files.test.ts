import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, it } from 'vitest'
import { hashNamedFiles } from '../cli/named-files.ts'

let folder: string
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'named-')))
  return () => rm(folder, { recursive: true, force: true })
})

it.each([
  ['node a.js "b c.sh" --plan=a.js', ['a.js', 'b c.sh']],
  ['cd sub && ./in.sh; psql -f b\\ c.sh', ['b c.sh', 'sub/in.sh']],
  ['git -C sub apply in.sh <a.js', ['a.js', 'sub/in.sh']],
  ["bash -c 'curl -d @a.js localhost'", ['a.js']],
  [['sh', 'b c.sh'], ['b c.sh']],
  [`sh ./b'' c".sh" 'b'" c".sh`, ['b c.sh']],
  ['bash -c \'sh "b c.sh"\'', ['b c.sh']],
  ['node a\\\n.js', ['a.js']],
  ['ls 0 1 2 3 4 5 6 7; cd sub && ./in.sh', ['sub/in.sh']],
  ['cd sub && cd deep && ./er.sh', ['sub/deep/er.sh']],
  ['cd sub/deep; cd ..; cd .. ; node a.js', ['a.js']],
  ['ls sub $HOME/a.js *.js none.js', []],
])('the command %s names %j', async (command, names) => {
  await mkdir(join(folder, 'sub/deep'), { recursive: true })
  for (const name of '01234567') await mkdir(join(folder, name))
  for (const name of ['a.js', 'b c.sh', 'sub/in.sh', 'sub/deep/er.sh', '.js'])
    await writeFile(join(folder, name), name)
  const named = hashNamedFiles(command, folder)
  expect(named.map(({ path }) => path)).toEqual(names.map((name) => join(folder, name)))
})

it('names no more files than a person compares', async () => {
  const names = Array.from({ length: 41 }, (_, index) => `f${index}`)
  for (const name of names) await writeFile(join(folder, name), name)
  expect(() => hashNamedFiles(names.join(' '), folder)).toThrow(/more than 40 files/)
  for (const name of names) await mkdir(join(folder, `d${name}`))
  expect(() => hashNamedFiles(`ls d${names.join(' d')}`, folder)).toThrow(/more than 40 directories/)
})
