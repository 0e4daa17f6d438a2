import assert from 'node:assert/strict';
import test from 'node:test';
import { total } from '../src/basket.js';

test('adds up lines and shipping', () => {
  assert.equal(total([{ price: 1000, quantity: 2 }]), 2490);
});

test('ships for free from 50.00 on', () => {
  assert.equal(total([{ price: 2500, quantity: 2 }]), 5000);
});

test('takes a discount off', () => {
  assert.equal(total([{ price: 1000, quantity: 1 }], 'WELCOME'), 1390);
});

test('a code never makes shipping free', () => {
  assert.equal(total([{ price: 2600, quantity: 2 }], 'SUMMER'), 4910);
});
