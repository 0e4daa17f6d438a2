export { createEgressDoor, type DoorOptions } from './egress-door.ts';
