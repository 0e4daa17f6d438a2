/** Texts of the kinds that tools bring, for measuring the estimate of tokens. */
export const TOKEN_TEXTS: Readonly<Record<string, string>> = {
  'english prose': `The router writes the ledger alone, and it raises an epoch before it lets another worker try again. A worker
that lost its lease may still be alive, so whatever it reports later is compared with the record before anybody believes it.
When nobody can tell whether the message was delivered, the answer is "unknown", and a person is asked; the same letter is
never posted twice merely because the receipt went missing somewhere between two post offices.`,
  'typescript source': `export const shardOf = (callId: string): number => {
  const digest = hash('sha256', callId, 'buffer');
  return (digest[0] ?? 0) % OPEN_SHARDS;
};

export class PendingCalls {
  readonly #waiting = new Map<string, (result: ToolResult) => void>();

  async waitFor(callId: string, deadline: number, signal: AbortSignal): Promise<ToolResult | undefined> {
    const { promise, resolve } = Promise.withResolvers<ToolResult>();
    this.#waiting.set(callId, resolve);
    try {
      return await raceDeadline(promise, deadline, signal);
    } finally {
      this.#waiting.delete(callId);
    }
  }
}`,
  'python source': `def merge_intervals(intervals: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Joins intervals that overlap or touch."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


if __name__ == "__main__":
    print(merge_intervals([(1, 3), (2, 6), (8, 10), (15, 18)]))`,
  'json data': `{"items":[{"id":"t-8f3k2m9x","state":"running","attempts":2,"createdAt":1767225600000,"labels":["nightly","linux"]},
{"id":"t-1b7q0c4z","state":"failed","attempts":3,"createdAt":1767229200000,"labels":[],"error":{"type":"limit_reached","retryable":false}}],
"next":null,"total":2}`,
  'test output': ` FAIL  libs/ledger/src/settle.test.ts > settle > keeps the first result
AssertionError: expected 'ok' to deeply equal 'unknown'

  - Expected
  + Received

  - unknown
  + ok

 ❯ libs/ledger/src/settle.test.ts:48:29
     46|     const state = settle(open, late);
     47|
     48|     expect(state.terminal).toEqual('unknown');
       |                             ^

 Test Files  1 failed | 11 passed (12)
      Tests  1 failed | 143 passed (144)
   Duration  2.31s`,
  'log lines': `2026-02-11T08:14:07.221Z INFO  [router-2] accepted call=2951-7hq2 tool=workspace.read_file tenant=shop ms=3.1
2026-02-11T08:14:07.240Z WARN  [worker-cli-1] slow lock workspace=w-19 waited=1204ms holder=pid:48211
2026-02-11T08:14:08.002Z ERROR [artifacts] put failed id=a-0k3 status=507 bytes=10485760 remote=10.42.0.17:52344`,
  'git diff': `diff --git a/src/queue.ts b/src/queue.ts
index 3b18e51..7c9a0d2 100644
--- a/src/queue.ts
+++ b/src/queue.ts
@@ -12,7 +12,9 @@ export class Queue<T> {
   push(item: T): void {
-    this.items.push(item);
+    if (this.items.length >= this.limit) throw new RangeError('the queue is full');
+    this.items.push(item);
+    this.bell.ring();
   }
 }`,
  chinese: `路由器独自写入账本，并且在让另一个执行者重试之前提高纪元编号。失去租约的执行者可能仍然活着，因此它之后报告的任何内容都必须先与记录核对。
如果没有人能确定消息是否已经送达，答案就是“未知”，并由一个人来判断；绝不会仅仅因为回执丢失就把同一封信寄两次。测试命令在创建任务时用哈希固定下来。`,
  japanese: `ルーターだけが台帳に書き込み、別のワーカーに再試行させる前に世代番号を上げます。配達されたかどうか誰にも分からないときは、答えは「不明」です。`,
  korean: `라우터만 원장에 기록하며 다른 작업자가 다시 시도하기 전에 세대 번호를 올립니다. 전달되었는지 아무도 모를 때 답은 "알 수 없음"입니다.`,
  russian: `Только маршрутизатор пишет в журнал и повышает номер эпохи, прежде чем другой исполнитель попробует ещё раз. Если никто не знает, доставлено ли сообщение, ответ — «неизвестно».`,
  german: `Nur der Router schreibt in das Hauptbuch, und er erhöht die Epoche, bevor ein anderer Arbeiter es noch einmal versuchen darf. Weiß niemand, ob die Nachricht ankam, lautet die Antwort „unbekannt“.`,
  'file list': `apps/router/src/handle-call.ts
apps/router/src/dispatch.ts
apps/worker-cli/src/process/run-process.ts
apps/worker-cli/src/workspace/snapshot/read-manifest.ts
libs/bus-nats/src/topology/streams.ts
libs/results/src/summary/output-summary.ts
test/stories/background-log.test.ts`,
  'hexadecimal and base64': `sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
integrity sha512-7Z1gE0b2sWq1yqv8mX2r0uQ5n3lJt4cPpZ9yK6dRw1oVhTfXaBgCe8iMkNjLsDuO2vYq3xW5zR7tA9bF4hG6Q==
e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855`,
};
