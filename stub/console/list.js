// A list that does not move while a person reads it.

import { html, useRef, useState } from "./preact.js";
import { plural } from "./parts.js";

const HOVERS = matchMedia("(hover: hover)"); // false for a touch screen

/** Whether a person points at a list, moves through it with the keyboard, or has scrolled it. */
const isRead = (scroller) =>
  (HOVERS.matches && scroller.parentNode.matches(":hover")) || scroller.querySelector("tbody :focus-visible") || scroller.scrollTop > 0;

/** Move the focus without scrolling. */
export const focusQuietly = (element) => element?.focus({ preventScroll: true });

/**
 * A list of `items`, newest first. An item has a number, and `row(item, tabindex)` draws it with this
 * `data-number`. The list moves on to the number `last`, unless a person reads it or `isHeld(number)`.
 * Then a button shows the new items, and the items before `first` stay. `merge` makes rows of the
 * visible items. The Tab key reaches a single row. The arrow keys, Home and End move on to another
 * row, and call `onMove`.
 */
export function List({ noun, columns, items, first = 0, last, isHeld, merge = (all) => all, row, onMove, children }) {
  const scroller = useRef();
  const place = useRef({ top: last }); // `top` is the highest visible number, `stop` the number that Tab reaches
  const [, redraw] = useState();
  const look = () => redraw({});
  const isKept = isHeld?.(place.current.top) || (scroller.current && isRead(scroller.current));
  if (!isKept && place.current.top !== last) place.current = { top: last };
  const { top, stop } = place.current;
  const rows = merge(items.filter(({ number }) => number <= top && (isKept || number >= first)));
  const unseen = items.filter(({ number }) => number > top).length;
  const reached = rows.find(({ number }) => number === stop) ?? rows[0];

  const onfocusin = ({ target }) => {
    const number = target.closest("tbody tr")?.dataset.number;
    if (number) place.current.stop = Number(number);
    look();
  };
  const onKeyDown = (event) => {
    const all = [...scroller.current.querySelectorAll("tbody tr")];
    const at = all.indexOf(event.target.closest("tr") ?? scroller.current.querySelector("[aria-current]"));
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
    const next = all[to];
    if (at < 0 || !next || event.target.tagName === "SELECT") return;
    event.preventDefault();
    event.stopPropagation();
    (next.cells[event.target.closest("td")?.cellIndex]?.querySelector("button") ?? next.querySelector("button")).focus();
    onMove?.(rows[to]);
  };
  const showNew = () => {
    place.current = { top: last };
    scroller.current.scrollTop = 0;
    focusQuietly(scroller.current);
    look();
  };
  return html`<div class="list" onPointerLeave=${look} onfocusin=${onfocusin} onfocusout=${look} onKeyDown=${onKeyDown}>
    <button class="new" type="button" hidden=${!unseen} aria-label=${plural(unseen, `new ${noun}`)} onClick=${showNew}>${unseen.toLocaleString("en")} new</button>
    <div class="scroller" tabindex="0" role="group" aria-label="Newest ${noun}s" ref=${scroller}
      onScroll=${({ target }) => target.scrollTop || look()}>
      <table role="table" aria-labelledby="${noun}s-title">
        <thead role="rowgroup">
          <tr role="row">${columns.map(
            (name) => html`<th role="columnheader" scope="col" aria-label=${name === "ms" ? "Milliseconds" : null}>${name}</th>`,
          )}</tr>
        </thead>
        <tbody role="rowgroup">${rows.map((item) => row(item, item === reached ? 0 : -1))}</tbody>
      </table>
      ${children}
    </div>
  </div>`;
}
