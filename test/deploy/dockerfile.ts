/** One instruction of a Dockerfile, continued lines joined. */
export interface Instruction {
  name: string
  /** Everything after the name and its `--flags`. */
  text: string
  flags: Readonly<Record<string, string>>
}

/** A build stage: what stands between one FROM and the next. */
export interface Stage {
  /** The image it starts from, variables filled in. */
  image: string
  /** `AS name`; the last stage has none. */
  name: string | undefined
  instructions: Instruction[]
}

/** Reads a Dockerfile of the kinds of instructions this package uses. @throws on a line that is none */
export function parseDockerfile(source: string): Stage[] {
  const lines = source
    .split('\n')
    .filter((line) => !/^\s*#/.test(line))
    .join('\n')
    .replace(/\\\n\s*/g, ' ')
    .split('\n')
    .filter((line) => line.trim() !== '')
  const variables: Record<string, string> = {}
  const stages: Stage[] = []
  for (const instruction of lines.map(parseInstruction)) {
    const { name, text } = instruction
    if (name === 'FROM') {
      const [image = '', , alias] = text.split(/\s+/)
      const filled = image.replace(/\$\{(\w+)\}/g, (_all, variable: string) => variables[variable] ?? '')
      stages.push({ image: filled, name: alias, instructions: [] })
    } else if (stages.length === 0) {
      const [variable = '', value = ''] = text.split('=')
      variables[variable] = value
    } else stages.at(-1)?.instructions.push(instruction)
  }
  return stages
}

function parseInstruction(line: string): Instruction {
  const match = /^([A-Z]+)\s+((?:--[\w-]+=\S+\s+)*)(.*)$/.exec(line)
  if (match === null) throw new Error(`not an instruction: ${line}`)
  const [, name = '', flagText = '', text = ''] = match
  const flags = [...flagText.matchAll(/--([\w-]+)=(\S+)/g)].map(([, flag = '', value = '']) => [flag, value])
  return { name, text: text.trim(), flags: Object.fromEntries(flags) }
}

/** `NAME=value` pairs, as ENV and LABEL have them. */
export function pairs(text: string): Record<string, string> {
  const found = [...text.matchAll(/([\w.]+)=(?:"([^"]*)"|(\S+))/g)]
  return Object.fromEntries(found.map(([, name = '', quoted, bare]) => [name, quoted ?? bare ?? '']))
}

/** The exec form, a JSON array. @throws when it is the shell form: then a shell, not node, gets the signals */
export function execForm(text: string): string[] {
  const parsed: unknown = JSON.parse(text)
  if (!Array.isArray(parsed)) throw new TypeError(`not in exec form: ${text}`)
  return parsed.map(String)
}

/** Whether a .dockerignore keeps a path of the context out: by itself or by a folder above it. */
export function ignores(dockerignore: string, path: string): boolean {
  const patterns = dockerignore.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  const parts = path.split('/')
  const paths = parts.map((_part, index) => parts.slice(0, index + 1).join('/'))
  return patterns.some((pattern) => {
    const expression = pattern
      .replace(/[.+^${}()|[\]\\]/g, '\\$&')
      .replace(/\*\*\/|\*/g, (stars) => (stars === '*' ? '[^/]*' : '(?:.*/)?'))
    return paths.some((prefix) => new RegExp(`^${expression}$`).test(prefix))
  })
}
