/** What both DOM libraries offer of an element, as far as it is needed here. */
interface StyledElement {
  readonly localName: string;
  getAttribute(name: string): string | null;
  remove(): void;
}
interface Queryable {
  querySelectorAll(selector: string): Iterable<StyledElement>;
}

const HIDING = [
  /(?:^|;)display:none/,
  /(?:^|;)visibility:(?:hidden|collapse)/,
  /(?:^|;)opacity:0(?:\.0+)?(?:;|$)/,
  /(?:^|;)font-size:0(?:px|em|rem|pt|%)?(?:;|$)/,
  /(?:^|;)(?:left|right|top|text-indent|margin-left):-\d{3,}(?:px|em|rem)/,
  /(?:^|;)clip:rect\((?:0(?:px)?,?){4}\)/,
  /(?:^|;)(?:max-)?(?:height|width):0(?:px)?(?:;|$).*overflow:hidden|overflow:hidden.*(?:^|;)(?:max-)?(?:height|width):0(?:px)?(?:;|$)/,
];

const COLOUR = /(?:^|;)color:([^;]+)/;
const BACKGROUND = /(?:^|;)background(?:-color)?:([^;]+)/;
const WHITE = new Set(['#fff', '#ffffff', 'white', 'rgb(255,255,255)', 'transparent', 'rgba(0,0,0,0)']);

/** Text in the colour of what is behind it; without a background of its own that is taken for white. */
const isInvisibleInk = (style: string): boolean => {
  const colour = COLOUR.exec(style)?.[1];
  if (colour === undefined) return false;
  const background = BACKGROUND.exec(style)?.[1];
  return background === undefined ? WHITE.has(colour) : colour === background;
};

/** By its own attributes: rules of style sheets are not looked at. */
export const hides = (style: string): boolean => {
  const flat = style.toLowerCase().replace(/\s+|!important/g, '');
  return HIDING.some((pattern) => pattern.test(flat)) || isInvisibleInk(flat);
};

/** Takes out what nobody would have seen, and says how many elements that were. */
export const dropHidden = (document: Queryable): number => {
  let dropped = 0;
  const drop = (element: StyledElement) => {
    element.remove();
    dropped += 1;
  };
  for (const element of document.querySelectorAll('[hidden], [aria-hidden="true"], dialog:not([open])')) drop(element);
  for (const element of document.querySelectorAll('[style]'))
    if (hides(element.getAttribute('style') ?? '')) drop(element);
  return dropped;
};
