// Small helpers for elements.

const SVG = 'http://www.w3.org/2000/svg';

/** Makes an element: `h('div', { class: 'x', onclick }, ...children)`. */
export function h(tag, attributes = {}, ...children) {
  return build(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function s(tag, attributes = {}, ...children) {
  return build(document.createElementNS(SVG, tag), attributes, children);
}

function build(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'style' && typeof value === 'object') for (const [key, item] of Object.entries(value)) element.style.setProperty(key, item);
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat().filter(child => child !== null && child !== undefined && child !== false));
  return element;
}

export const $ = id => document.getElementById(id);

export const percent = (value, digits = 0) => (value === null || value === undefined ? '–' : `${(100 * value).toFixed(digits)}%`);

/** A color from lost to won, in the palette of the theme. */
export function valueColor(value) {
  if (value === null || value === undefined) return 'var(--line-strong)';
  const good = Math.max(0, Math.min(1, (value - 0.5) * 2.6)), bad = Math.max(0, Math.min(1, (0.5 - value) * 2.6));
  return good > 0
    ? `color-mix(in srgb, var(--good) ${Math.round(good * 100)}%, var(--even))`
    : `color-mix(in srgb, var(--bad) ${Math.round(bad * 100)}%, var(--even))`;
}

export function toast(text) {
  const element = h('div', { class: 'toast' }, text);
  $('toasts').append(element);
  setTimeout(() => element.remove(), 4500);
}
