import { INSIDE_PROXY, INSIDE_TRUST } from './listen-inside.ts';

const PROXY = `http://${INSIDE_PROXY.host}:${INSIDE_PROXY.port}`;
/** What a program serves to itself inside needs no way out. */
const NEAR = 'localhost,127.0.0.1,::1';

const bothCases = (entries: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(entries).flatMap(([name, value]) => [
      [name, value],
      [name.toUpperCase(), value],
    ]),
  );

/**
 * Says to programs where their proxy listens and whom they may trust. There is nothing secret in it: the leave of the
 * call never enters the sandbox. It takes back what keeps package managers from trying where there is no network.
 */
export const NETWORK_ENVIRONMENT: Readonly<Record<string, string>> = {
  ...bothCases({ http_proxy: PROXY, https_proxy: PROXY, all_proxy: PROXY, no_proxy: NEAR }),
  NODE_USE_ENV_PROXY: '1',
  npm_config_proxy: PROXY,
  npm_config_https_proxy: PROXY,
  npm_config_noproxy: NEAR,
  npm_config_offline: 'false',
  npm_config_cafile: INSIDE_TRUST,
  PIP_PROXY: PROXY,
  PIP_CERT: INSIDE_TRUST,
  PIP_DISABLE_PIP_VERSION_CHECK: '1',
  CARGO_NET_OFFLINE: 'false',
  CARGO_HTTP_CAINFO: INSIDE_TRUST,
  GOPROXY: '',
  GIT_SSL_CAINFO: INSIDE_TRUST,
  GIT_TERMINAL_PROMPT: '0',
  SSL_CERT_FILE: INSIDE_TRUST,
  CURL_CA_BUNDLE: INSIDE_TRUST,
  REQUESTS_CA_BUNDLE: INSIDE_TRUST,
  NODE_EXTRA_CA_CERTS: INSIDE_TRUST,
};
