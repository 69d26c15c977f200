// Forms the replica set and makes the service's user; run by mongosh (--nodb) on every `docker compose up`, changes only
// what is not as it should be. Environment: MONGO_MEMBERS, MONGO_ROOT_PASSWORD, MONGO_APP_PASSWORD.
const SET = 'rs0'
const DATABASE = 'countersign'
const USER = 'countersign'
const TRIES = 120

const members = process.env.MONGO_MEMBERS.split(',')

/** The `admin` database as root. @throws when there is no answer within two seconds */
function connectAsRoot(hosts, options) {
  const password = encodeURIComponent(process.env.MONGO_ROOT_PASSWORD)
  return connect(`mongodb://root:${password}@${hosts}/admin?serverSelectionTimeoutMS=2000&${options}`)
}

/** Forms the set on its first member, unless it is there. Other errors: the member is still starting. */
function formSet() {
  const admin = connectAsRoot(members[0], 'directConnection=true')
  try {
    admin.adminCommand({ replSetGetStatus: 1 })
  } catch (error) {
    if (error.codeName !== 'NotYetInitialized') throw error
    const config = { _id: SET, members: [] }
    for (let index = 0; index < members.length; index += 1) {
      config.members.push({ _id: index, host: members[index] })
    }
    admin.adminCommand({ replSetInitiate: config })
    print('replica set formed')
  }
}

/** Makes the user, or gives an existing one the password and rights of today: no more than its own database. */
function makeUser() {
  const database = connectAsRoot(members.join(','), `replicaSet=${SET}`).getSiblingDB(DATABASE)
  const grant = { pwd: process.env.MONGO_APP_PASSWORD, roles: [{ role: 'readWrite', db: DATABASE }] }
  if (database.getUser(USER) === null) {
    database.createUser({ user: USER, ...grant })
    print('user made')
  } else database.updateUser(USER, grant)
}

let problem
let step = 'formSet'
for (let attempt = 1; attempt <= TRIES && step !== 'done'; attempt += 1) {
  try {
    if (step === 'formSet') {
      formSet()
      step = 'makeUser'
    }
    makeUser()
    step = 'done'
  } catch (error) {
    problem = error
    sleep(1000)
  }
}
if (step !== 'done') {
  print(`The replica set is not ready: ${problem.message}`)
  if (problem.codeName === 'AuthenticationFailed') {
    print('MONGO_ROOT_PASSWORD must be the one with which the volumes were first started.')
  }
}
quit(step === 'done' ? 0 : 1)
