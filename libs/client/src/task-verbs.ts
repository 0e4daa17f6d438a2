import { uuidv7 } from '@toolfabric/kernel';
import {
  type ToolServiceClient,
  taskFromWire,
  taskOutcomeToWire,
  taskRulesToWire,
  testCommandToWire,
  type wireTask,
  workspaceSourceToWire,
} from '@toolfabric/proto';
import type { FabricClient } from './client-types.ts';
import { present, type Requester } from './requester.ts';

type TaskVerbs = Pick<FabricClient, 'createTask' | 'getTask' | 'widenTask' | 'endTask'>;

const taskOf = ({ task }: { task: wireTask.Task | undefined }) => taskFromWire(present(task));

export const taskVerbs = (tools: ToolServiceClient, requester: Requester): TaskVerbs => ({
  createTask({ title = '', workspace, testCommand, requestKey = uuidv7(), ...rules }, options = {}) {
    const request = {
      requestKey,
      title,
      workspace: workspace && workspaceSourceToWire(workspace),
      testCommand: testCommand && testCommandToWire(testCommand),
      ...taskRulesToWire(rules),
    };
    return requester.ask(tools.createTask.bind(tools), request, taskOf, options);
  },
  getTask: (taskId, options = {}) => requester.ask(tools.getTask.bind(tools), { taskId }, taskOf, options),
  widenTask(taskId, { writable = [], hosts = [], note }, options = {}) {
    const request = { taskId, writable: [...writable], hosts: [...hosts], note };
    return requester.ask(tools.widenTask.bind(tools), request, taskOf, options);
  },
  endTask(taskId, outcome, options = {}) {
    const request = { taskId, outcome: taskOutcomeToWire(outcome) };
    return requester.ask(tools.endTask.bind(tools), request, taskOf, options);
  },
});
