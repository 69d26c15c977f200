// Mutant schemata: all mutants of a module in one text, each behind a switch.
import { parseAst } from 'vite'

/** What each operator becomes. Both sides stay as they are. */
const OPERATORS = {
  '===': ['!=='],
  '!==': ['==='],
  '<': ['<=', '>='],
  '<=': ['<', '>'],
  '>': ['>=', '<='],
  '>=': ['>', '<'],
  '+': ['-'],
  '-': ['+'],
  '*': ['/'],
  '/': ['*'],
  '%': ['*'],
  '&&': ['||'],
  '||': ['&&'],
  '??': ['&&'],
  '+=': ['-='],
  '-=': ['+='],
}

/** Calls that leave what they are called on as it is, if they are left out. */
const REMOVED_CALLS =
  /^(?:filter|slice|sort|toSorted|reverse|toReversed|trim|toLowerCase|toUpperCase|normalize|replace|replaceAll|flat)$/

/**
 * The switches share one state, which the tests' runner sets: `active` is on, `seen` were reached. `made` are the constants of
 * modules, which can be made anew: otherwise a mutant of a table would need a process.
 */
const HEAD = `const $s = (globalThis.$mutation ??= { active: Number(process.env.MUTANT ?? 0), seen: new Set(), steps: 0, made: [] });
const $m = (id) => { $s.seen.add(id); if ($s.active !== id) return false; if (++$s.steps > 1e6) throw new Error('a mutant without an end'); return true };
`

/**
 * @param {string} source an ES module
 * @param {number} first the first mutant's id
 * @returns {{ code: string, mutants: { id: number, line: number, was: string, is: string }[] }}
 */
export function withMutants(source, first) {
  const mutants = []
  const text = (node) => source.slice(node.start, node.end)
  const add = (node, is) => {
    const id = first + mutants.length
    const line = source.slice(0, node.start).split('\n').length
    mutants.push({ id, line, was: text(node), is })
    return id
  }
  const inside = (node) => {
    let [at, code] = [node.start, '']
    for (const [key, child] of childrenOf(node)) {
      code += source.slice(at, child.start) + generate(child, node, key)
      at = child.end
    }
    return code + source.slice(at, node.end)
  }
  const generate = (node, parent, key) => {
    if (node.type === 'ExpressionStatement' && node.directive === undefined && hasEffect(node.expression))
      return `{if(!$m(${add(node, '')})){${inside(node)}}}`
    const found = isOperand(node, parent, key) ? variantsOf(node, parent, key, text) : []
    if (found.length === 0) return inside(node)
    const switches = found.map((is) => `$m(${add(node, is)})?(${is}):`)
    return `(${switches.join('')}(${inside(node)}))`
  }
  const statement = (node) => {
    const declaration = node.declaration ?? node
    const [one, more] = declaration.declarations ?? []
    if (
      declaration.kind !== 'const' ||
      more !== undefined ||
      one.id.type !== 'Identifier' ||
      isFunction(one.init)
    )
      return inside(node)
    const from = first + mutants.length
    const init = generate(one.init, one, 'init')
    const { name } = one.id
    const made = { name, from, to: first + mutants.length, uses: text(one.init).match(/[\w$]+/g) ?? [] }
    const remake = `() => { const was = ${name}; ${name} = ${init}; return () => { ${name} = was } }`
    const exported = node === declaration ? '' : 'export '
    return `${exported}let ${name} = ${init}; $s.made.push({ ...${JSON.stringify(made)}, remake: ${remake} });`
  }
  const body = parseAst(source).body.map(statement)
  return { code: [HEAD, ...body].join('\n'), mutants }
}

function isFunction(init) {
  return /^(?:Arrow)?Function|^Class/.test(init?.type ?? 'Function')
}

function childrenOf(node) {
  if (/^(?:Import|ExportSpecifier)/.test(node.type)) return []
  return Object.entries(node)
    .filter(([key]) => !(key === 'key' && node.shorthand))
    .flatMap(([key, value]) => [value].flat().map((child) => [key, child]))
    .filter(([, child]) => typeof child?.type === 'string' && typeof child.start === 'number')
    .sort(([, a], [, b]) => a.start - b.start)
}

/** Assignments of variables are left to the mutants of their values. */
function hasEffect({ type, argument }) {
  return type === 'CallExpression' || (type === 'AwaitExpression' && argument.type === 'CallExpression')
}

/** Names of properties and modules are written like strings. What programmers are told is nobody's promise. */
function isOperand(node, parent, key) {
  if (key === 'key' || key === 'source' || key === 'quasi' || /^(?:Import|Export)/.test(parent.type))
    return false
  if (/^(?:Chain|Member)Expression$/.test(parent.type) && node.type === 'CallExpression')
    return parent.type === 'MemberExpression' && !parent.optional && !isInChain(node)
  // The other operator says the same.
  if (/^[!=]==$/.test(parent.operator) && /^(?:string|boolean)$/.test(typeof node.value)) return false
  return !(parent.type === 'NewExpression' && /^(?:Type|Range)?Error$/.test(parent.callee.name))
}

function isInChain(node) {
  for (let one = node; one !== undefined; one = one.callee ?? one.object) if (one.optional) return true
  return false
}

function variantsOf(node, parent, key, text) {
  const { type, operator } = node
  const both = key === 'test' && /^(?:If|Conditional)/.test(parent.type) ? ['true', 'false'] : []
  if (key === 'test' && /^(?:While|DoWhile|For)/.test(parent.type)) both.push('false')
  if (/^(?:Binary|Logical|Assignment)Expression$/.test(type)) {
    const { left, right } = node
    const isText =
      operator === '+' &&
      [left, right].some((side) => /Template|String/.test(side.type) || typeof side.value === 'string')
    const others = isText ? [] : (OPERATORS[operator] ?? [])
    const side = (one) => (type === 'AssignmentExpression' ? text(one) : `(${text(one)})`)
    return [...both, ...others.map((other) => `${side(left)} ${other} ${side(right)}`)]
  }
  if (type === 'UnaryExpression' && operator === '!') return [...both, `(${text(node.argument)})`]
  if (type === 'UpdateExpression')
    return [...both, text(node).replace(/\+\+|--/, (old) => (old === '++' ? '--' : '++'))]
  if (type === 'ArrayExpression' && node.elements.length > 0) return ['[]']
  if (type === 'TemplateLiteral') return ["''"]
  if (type === 'Literal') return [...both, ...literalsOf(node)]
  if (type === 'CallExpression' && REMOVED_CALLS.test(node.callee.property?.name ?? '') && !isInChain(node))
    return [...both, text(node.callee.object)]
  return both
}

function literalsOf({ value, regex }) {
  if (regex !== undefined && regex !== null) {
    const bare = [regex.pattern.replace(/^\^/, ''), regex.pattern.replace(/(?<!\\)\$$/, '')]
    return bare.filter((pattern) => pattern !== regex.pattern).map((pattern) => `/${pattern}/${regex.flags}`)
  }
  if (typeof value === 'number') return [`${value + 1}`]
  if (typeof value === 'boolean') return [`${!value}`]
  return typeof value === 'string' && value !== '' ? ["''"] : []
}
