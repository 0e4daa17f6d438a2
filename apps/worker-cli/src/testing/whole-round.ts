import { callTool, makeFixture, makeWorkspace } from './driver-fixture.ts';

/** Every tool once, in a process that some test starts as a user of its choice; prints what came out as JSON. */
const fixture = await makeFixture();
const workspace = await makeWorkspace(fixture);
const call = async (handler: string, args: Record<string, unknown>) =>
  (await callTool(fixture.driver, handler, workspace, args)).data;

const made = await call('workspace.edit_file', {
  path: 'src/a.txt',
  old_text: '',
  new_text: 'needle\n',
  expected_sha256: 'absent',
});
const listed = await call('workspace.list_files', {});
const found = await call('workspace.search_code', { pattern: 'needle' });
const read = await call('workspace.read_file', { path: 'src/a.txt' });
await fixture.remove();
process.stdout.write(JSON.stringify({ uid: process.getuid?.(), child: workspace.child, made, listed, found, read }));
