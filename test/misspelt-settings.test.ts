import { describe, expect, it } from 'vitest'
import { readConfig, VARIABLES } from '../src/config/config.ts'
import { misspeltSettings } from '../src/config/switch-warnings.ts'

describe('a setting that is misspelt', () => {
  const HINTS = {
    MONGO_URI: 'MONGODB_URI',
    MONGO_URL: 'MONGODB_URI',
    MONGODB_URL: 'MONGODB_URI',
    METRIC_PORT: 'METRICS_PORT',
    TRUSTPROXY: 'TRUST_PROXY',
    COUNTERSIGN_DATA_DIR: 'DATA_DIR',
    COUNTERSIGN_PORT: 'PORT',
    data_dir: 'DATA_DIR',
    BASE_URI: 'BASE_URL',
    NODE_EVN: 'NODE_ENV',
    SLACK_BOT_TOKN: 'SLACK_BOT_TOKEN',
    API_KEY_PEPER: 'API_KEY_PEPPER',
  }

  it.each(Object.entries(HINTS))(
    '%s is named with the one that was meant, without its value',
    (name, meant) => {
      const hint = `${name}: is not a setting and has no effect; did you mean ${meant}?`
      expect(readConfig({ [name]: 'hunter2' }).warnings).toEqual([hint])
      // With the right one set as well, it is another program's.
      expect(misspeltSettings({ [name]: 'hunter2', [meant]: 'x' }, VARIABLES)).toEqual([])
    },
  )

  it('is not seen in what ordinary machines, containers, CI and npm set', () => {
    const names =
      'PATH HOME PWD OLDPWD SHELL SHLVL USER LOGNAME HOSTNAME HOSTTYPE OSTYPE TERM LANG LC_ALL TZ EDITOR PAGER MAIL TMPDIR DISPLAY _ ' +
      'XDG_DATA_DIRS XDG_DATA_HOME XDG_SESSION_ID XDG_RUNTIME_DIR SESSION_MANAGER DBUS_SESSION_BUS_ADDRESS SSH_AUTH_SOCK SSH_CONNECTION ' +
      'NODE NODE_VERSION NODE_OPTIONS NODE_PATH NODE_EXTRA_CA_CERTS NODE_DEBUG NODE_NO_WARNINGS NODE_V8_COVERAGE YARN_VERSION ' +
      'npm_config_loglevel npm_config_cache npm_config_user_agent npm_config_prefix npm_package_name npm_package_version ' +
      'npm_lifecycle_event npm_execpath npm_node_execpath npm_config_proxy npm_config_https_proxy INIT_CWD COLOR ' +
      'KUBERNETES_PORT KUBERNETES_SERVICE_HOST KUBERNETES_SERVICE_PORT KUBERNETES_PORT_443_TCP_ADDR COUNTERSIGN_SERVICE_HOST ' +
      'COUNTERSIGN_SERVICE_PORT COUNTERSIGN_PORT_3000_TCP_PORT COUNTERSIGN_URL COUNTERSIGN_API_KEY COUNTERSIGN_KEY MONGO_SERVICE_HOST ' +
      'FTP_PROXY NO_PROXY no_proxy http_proxy https_proxy all_proxy RSYNC_PROXY CI GITHUB_TOKEN GITHUB_API_URL RUNNER_TEMP ' +
      'AWS_REGION AWS_SESSION_TOKEN DATABASE_URL REDIS_URL PORTS HOSTS HOST_IP POD_NAME POD_IP INVOCATION_ID JOURNAL_STREAM ' +
      'LISTEN_FDS NOTIFY_SOCKET WATCHDOG_USEC SYSTEMD_EXEC_PID CREDENTIALS_DIRECTORY STATE_DIRECTORY LOGS_DIRECTORY MAINPID ' +
      'MONGO_ROOT_PASSWORD MONGO_APP_PASSWORD HTTP_PORT TLS_DIR COMPOSE_FILE COMPOSE_PROJECT_NAME VITEST TEST DEV PROD MODE BASE_DIR ' +
      'PLAYWRIGHT_BROWSERS_PATH CHROMIUM_PATH VITEST_MAX_WORKERS SLACK_WEBHOOK_URL SLACK_CHANNEL SLACK_TEAM_ID PORT_RANGE'
    const usual = Object.fromEntries(names.split(' ').map((name) => [name, 'x']))
    expect(readConfig(usual).warnings).toEqual([])
    // Of Docker's links and Kubernetes' neighbours, the addresses.
    const links = { COUNTERSIGN_PORT: 'tcp://10.0.0.1:3000', METRIC_PORT: 'tcp://10.0.0.2:80', STORES: '' }
    expect(readConfig(links).warnings).toEqual([])
  })
})
