import { setTimeout as wait } from 'node:timers/promises';
import { total } from '../src/basket.js';
import { formatCents } from '../src/money.js';

/** What the same basket costs in each month, said one by one as a long report would. */
for (let month = 1; month <= 8; month += 1) {
  console.log(`month ${month}: ${formatCents(total([{ price: 700 * month, quantity: 1 }], 'WELCOME'))}`);
  await wait(150);
}
