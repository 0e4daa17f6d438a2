import { execFile } from 'node:child_process';

export interface Said {
  readonly code: number;
  readonly text: string;
}

/** Runs a program to its end and gives what it said on both streams; a code below 0 means that it did not run. Never rejects. */
export const askProgram = (file: string, args: readonly string[], timeoutMs = 5_000): Promise<Said> =>
  new Promise((resolve) => {
    const options = { timeout: timeoutMs, killSignal: 'SIGKILL', maxBuffer: 256 * 1024, env: {} } as const;
    execFile(file, [...args], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
      resolve({ code, text: `${stdout}${stderr}`.trim() });
    });
  });

/** The first thing in a text that looks like a version. */
export const versionIn = (text: string): string | undefined => /\d+\.\d+(\.\d+)?/.exec(text)?.[0];
