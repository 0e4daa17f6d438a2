/** One line of JSON a record, on stderr. Never arguments, results, file contents or tokens, at any level. */
export interface Logger {
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
}
export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>;

export const createLogger = (
  service: string,
  write: (line: string) => void = (line) => void process.stderr.write(line),
): Logger => {
  const log =
    (level: string) =>
    (event: string, fields: LogFields = {}) =>
      write(`${JSON.stringify({ at: new Date().toISOString(), level, service, event, ...fields })}\n`);
  return { info: log('info'), warn: log('warn'), error: log('error') };
};

export const silentLogger: Logger = { info: () => {}, warn: () => {}, error: () => {} };
