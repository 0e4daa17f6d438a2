import { parseDocument } from 'htmlparser2';
import { parseFragment, serialize } from 'parse5';
import { describe, expect, it } from 'vitest';
import { renderMarkdown } from './render-markdown.ts';

const render = (html: string) => renderMarkdown(parseDocument(html).children, 'https://a.example/b/c');
/** As a browser would read it. */
const md = (html: string) => render(serialize(parseFragment(html)));

describe('WB-2: elements as Markdown', () => {
  it.each([
    ['<h2>A <em>b</em></h2>', '## A *b*'],
    ['<h2> </h2><p>a', 'a'],
    ['<p>a<p>b', 'a\n\nb'],
    ['a<br>b', 'a\nb'],
    ['<p>one  \n two</p>', 'one two'],
    ['<b> a </b>b', '**a** b'],
    ['<ul><li>a</li><li><p>b</p><p>c</p></li></ul>', '- a\n- b\n  c'],
    ['<ol start=3><li>a<li>b<ol><li>c</ol></ol>', '3. a\n4. b\n   1. c'],
    ['<blockquote><p>a</p><p>b</p></blockquote>', '> a\n>\n> b'],
    ['<pre><code class="language-js">a\n  b</code></pre>', '```js\na\n  b\n```'],
    ['<pre>a ``` b</pre>', '````\na ``` b\n````'],
    ['<code>a`b</code>', '``a`b``'],
    ['<img alt="a [cat]" src=x>', '[image: a \\[cat\\]]'],
    ['<img src=x>', ''],
    ['<hr>', '---'],
    ['<script>x</script><style>y</style><p>a', 'a'],
    ['<a href=/x><h3>Card</h3><p>text</p></a>', '### Card\n\ntext'],
  ])('%s', (html, expected) => {
    expect(md(html)).toBe(expected);
  });

  it.each([
    ['/x?y=1', '[t](https://a.example/x?y=1)'],
    ['d', '[t](https://a.example/b/d)'],
    ['mailto:a@b.example', '[t](mailto:a@b.example)'],
    ['javascript:alert(1)', 't'],
    ['JaVaScRiPt:x', 't'],
    ['data:text/html,x', 't'],
    ['file:///etc/passwd', 't'],
    ['http://[', 't'],
    ['/a(b)', '[t](https://a.example/a%28b%29)'],
    [`/${'a'.repeat(3_000)}`, 't'],
  ])('a link to %s', (href, expected) => {
    expect(md(`<a href="${href}">t</a>`)).toBe(expected);
  });

  it('RS-6: text of a page stays text', () => {
    expect(md('<p># no *title* [x](y) `z` &lt;b&gt; _u_</p>')).toBe(
      '# no \\*title\\* \\[x\\](y) \\`z\\` \\<b\\> \\_u\\_',
    );
  });

  it('tables: with a head, cells of any number, bars escaped', () => {
    expect(md('<table><thead><tr><th>a<th>b<tbody><tr><td>1|2<td>x<br>y<tr><td>3</table>')).toBe(
      '| a | b |\n| --- | --- |\n| 1\\|2 | x y |\n| 3 |  |',
    );
  });

  it('a table that only lays out a page is none', () => {
    expect(md('<table><tr><td><p>a</p><p>b</p></td></tr></table>')).toBe('a\n\nb');
    expect(md('<table role=presentation><tr><td>a</td><td>b</td></tr></table>')).toBe('a\n\nb');
    expect(md('<table><tr><td><table><tr><td>x<td>y</table></td><td>z</td></tr></table>')).toContain('| x | y |');
  });

  it('a table of ten thousand rows says how many it leaves out', () => {
    const text = md(`<table>${'<tr><td>a<td>b'.repeat(10_752)}</table>`);
    expect(text.split('\n')).toHaveLength(502);
    expect(text).toContain('10252 more rows');
  });

  it('any depth is survived', () => {
    const deep = `${'<div>'.repeat(50_000)}the end`;
    expect(render(deep)).toContain('the end');
    expect(render(`${'<ul><li>'.repeat(5_000)}the end`)).toContain('the end');
    expect(render(`${'<b>'.repeat(50_000)}the end`)).toContain('the end');
  });
});
