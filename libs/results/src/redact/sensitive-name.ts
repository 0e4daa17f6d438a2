import type { SecretKind } from './mark.ts';

/** Words after the one that counts that change nothing: `password_prod`, `tokenValue`, `API_KEY_2`. */
const TAIL =
  /^(?:\d+|prod|production|dev|development|test|staging|live|value|old|new|current|b64|base64|hex|env|raw|plain|text|str|string)$/;
/** Words before `token` with which it is no secret: places in a list, in a text, in a language. */
const OTHER_TOKENS =
  /^(?:page|next|continuation|pagination|cursor|sync|resume|start|end|first|last|prev|previous|unexpected|syntax|max|min|total|num|prompt|completion|input|output|per|stop|eos|bos|pad|unk|mask|special|cancellation|abort|cancel|type|design)$/;
const OTHER_SECRETS = /^(?:no|kubernetes|k8s|type)$/;
const KEY_WORDS =
  /^(?:api|access|private|account|encryption|signing|master|ssh|license|subscription|storage|secret|deploy|consumer|service|app|shared|auth|webhook|hmac)$/;
const SESSION = /^(?:phpsessid|jsessionid|sessionid|sessid|asp\.net_sessionid|connect\.sid)$/i;

/** `dbPassword`, `DB-PASSWORD` and `db.password` are the same two words. */
const wordsOf = (name: string): string[] =>
  name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '');

const kindOfWords = (last: string, before: string | undefined): SecretKind | undefined => {
  if (/(?:password|passwd|passphrase|passcode|pwd)$/.test(last)) return 'password';
  if (
    last === 'pass' &&
    before !== undefined &&
    /^(?:db|user|mysql|pg|smtp|mail|admin|root|ftp|redis|proxy|http|basic|auth|key|ssl|my|sudo)$/.test(before)
  )
    return 'password';
  if (/^(?:secret|secrets|clientsecret|appsecret)$/.test(last) && !OTHER_SECRETS.test(before ?? '')) return 'secret';
  if (/^(?:token|authtoken|accesstoken|refreshtoken|idtoken|apitoken|bearertoken)$/.test(last))
    return OTHER_TOKENS.test(before ?? '') ? undefined : 'token';
  if (/^(?:apikey|accesskey|privatekey|secretkey|accountkey|sharedaccesskey)$/.test(last)) return 'api-key';
  if (last === 'key' && KEY_WORDS.test(before ?? '')) return 'api-key';
  if (last === 'authorization' || (last === 'auth' && before !== 'no')) return 'authorization';
  if (last === 'cookie' || last === 'cookies') return 'cookie';
  if (last === 'credential' || last === 'credentials') return 'credential';
  if (last === 'sig' || (last === 'signature' && /^(?:amz|goog)$/.test(before ?? ''))) return 'signature';
  return undefined;
};

/**
 * What a value under this name is, when the name says that it is secret. `accessToken`, `X-Api-Key` and `DB_PASSWORD`
 * do; `tokenizer`, `max_tokens`, `nextPageToken` and `password_hash_rounds` do not.
 */
export const secretKindOf = (name: string): SecretKind | undefined => {
  if (name.length > 128) return undefined;
  if (SESSION.test(name)) return 'cookie';
  const words = wordsOf(name);
  while (words.length > 1 && TAIL.test(words.at(-1) ?? '')) words.pop();
  const last = words.at(-1);
  return last === undefined ? undefined : kindOfWords(last, words.at(-2));
};
