// Preload: whatever listens in this process listens on 127.0.0.1 only. The Slack emulator has no option for it.
const net = require('node:net')

const listen = net.Server.prototype.listen
net.Server.prototype.listen = function (first, ...rest) {
  const isPort = typeof first === 'number' || (typeof first === 'string' && /^\d+$/.test(first))
  if (isPort) {
    const whenListening = rest.filter((argument) => typeof argument === 'function')
    return listen.call(this, Number(first), '127.0.0.1', ...whenListening)
  }
  const named = typeof first === 'object' && first !== null && 'port' in first
  return listen.call(this, named ? { ...first, host: '127.0.0.1' } : first, ...rest)
}

// Whoever started it is gone, however that came: so is this.
process.once('disconnect', () => process.exit(0))
